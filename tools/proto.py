"""`make proto`: write the Python of `proto/` into `src/feedmill/interfaces/grpc/generated/`.

    python -m tools.proto

Only messages are generated. Services are registered from their descriptors, because the stubs of
a proto package `feedmill` would be imported from the package `feedmill` that is ours.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

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
    """Compile the proto file and put its modules into a folder, without the folders of its name.

    The compiler runs in a process of its own: its protobuf and the one inside onnxruntime-extensions
    abort a process that loads both, as a test process may.
    """
    with TemporaryDirectory(prefix="feedmill-proto-") as scratch:
        command = [
            *(sys.executable, "-m", "grpc_tools.protoc"),  # it adds the path of its own proto files
            f"-I{ROOT / 'proto'}",
            f"--python_out={scratch}",
            f"--pyi_out={scratch}",
            PROTO,
        ]
        if subprocess.run(command, check=False).returncode != 0:
            message = f"{PROTO} does not compile"
            raise SystemExit(message)
        made = Path(scratch) / Path(PROTO).parent
        for name in NAMES:
            (target / name).write_bytes((made / name).read_bytes())


if __name__ == "__main__":
    sys.exit(main())
