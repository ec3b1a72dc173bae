"""Compare the locked packages with a database of known vulnerabilities, or say that it was not done.

Status 0: audited, nothing found. 1: vulnerabilities were found. 2: not audited, because pip-audit is not installed or no database can be
reached; that is no pass.
"""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

LOCK: Final = Path(__file__).parents[1] / "requirements.txt"
DATABASE: Final = "https://api.osv.dev/v1/vulns/OSV-2020-111"
_NOT_AUDITED: Final = 2


def main(database: str = DATABASE) -> int:
    """Run pip-audit when it can do its work; the exit status."""
    if find_spec("pip_audit") is None:
        return _not_audited("pip-audit is not installed: pip install pip-audit")
    try:
        with urlopen(database, timeout=10):  # a constant
            pass
    except (URLError, OSError) as problem:
        return _not_audited(f"no vulnerability database can be reached ({problem})")
    words = ["--requirement", str(LOCK), "--require-hashes", "--vulnerability-service", "osv"]
    return subprocess.run([sys.executable, "-m", "pip_audit", *words], check=False).returncode


def _not_audited(why: str) -> int:
    print(f"NOT AUDITED: {why}", file=sys.stderr)
    return _NOT_AUDITED


if __name__ == "__main__":
    sys.exit(main())
