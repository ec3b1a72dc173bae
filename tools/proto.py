"""`make proto`: write the Python of `proto/` into `src/feedmill/interfaces/grpc/generated/`.

    python -m tools.proto

Only messages are generated. Services are registered from their descriptors, because the stubs of
a proto package `feedmill` would be imported from the package `feedmill` that is ours.
"""

import sys
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from grpc_tools import protoc

ROOT = Path(__file__).parent.parent
PROTO = "feedmill/v1/feedmill.proto"
GENERATED = ROOT / "src" / "feedmill" / "interfaces" / "grpc" / "generated"
NAMES = ("feedmill_pb2.py", "feedmill_pb2.pyi")


def main() -> int:
    """Generate in place."""
    generate(GENERATED)
    for name in NAMES:
        print(f"wrote {(GENERATED / name).relative_to(ROOT)}")
    return 0


def generate(target: Path) -> None:
    """Compile the proto file and put its modules into a folder, without the folders of its name."""
    own = files("grpc_tools") / "_proto"
    with TemporaryDirectory(prefix="feedmill-proto-") as scratch:
        words = [
            "protoc",
            f"-I{ROOT / 'proto'}",
            f"-I{own}",
            f"--python_out={scratch}",
            f"--pyi_out={scratch}",
            PROTO,
        ]
        if protoc.main(words) != 0:
            message = f"{PROTO} does not compile"
            raise SystemExit(message)
        made = Path(scratch) / Path(PROTO).parent
        for name in NAMES:
            (target / name).write_bytes((made / name).read_bytes())


if __name__ == "__main__":
    sys.exit(main())
