"""The layout that CONTRIBUTING promises: a module's test is found by the module's name."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "feedmill"
KINDS = ("unit", "integration", "contracts")
TESTED_IN = re.compile(r"^# Tested in (tests/\S+)$", re.MULTILINE)


def modules() -> list[Path]:
    found = SOURCE.rglob("*.py")
    return [p for p in found if p.name != "__init__.py" and "generated" not in p.parts]


def has_test_of_its_name(module: Path) -> bool:
    name = module.stem.strip("_")
    folders = [ROOT / "tests" / kind / module.relative_to(SOURCE).parent for kind in KINDS]
    return any(any(f.glob(f"test_{name}.py")) or any(f.glob(f"test_{name}_*.py")) for f in folders)


def test_module_has_test_of_its_name_or_names_where_it_is_tested() -> None:
    silent = [
        str(module.relative_to(SOURCE))
        for module in modules()
        if not has_test_of_its_name(module) and not TESTED_IN.search(module.read_text("utf-8"))
    ]

    assert silent == []


def test_path_named_by_a_module_exists() -> None:
    named = {path for module in modules() for path in TESTED_IN.findall(module.read_text("utf-8"))}

    assert named
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
