"""A headless Chromium that is driven through two pipes (the DevTools protocol, JSON and a NUL).

It may resolve no name, so that a page which wants something from outside does not get it; what
it asked for is remembered.
"""

import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
_LIMIT_SEC: Final = 60.0
_SWITCHES: Final = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--window-size=1280,900",
)


class Browser:
    """One page; `run` is what an expression comes to, `asked` every address that was wanted."""

    def __init__(self, folder: Path) -> None:
        found = next(filter(None, map(shutil.which, NAMES)), None)
        if found is None:
            message = f"there is no browser here; install one of {', '.join(NAMES)}"
            raise SystemExit(message)
        self._command = [found, *_SWITCHES, f"--user-data-dir={folder / 'profile'}"]
        self._downloads = folder
        self._session: str | None = None
        self._number = 0
        self._rest = b""
        self._loaded = False
        self.asked: list[str] = []
        self.complaints: list[str] = []

    def __enter__(self) -> Self:
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        ends = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'  # Chromium reads from 3, writes to 4
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", ends, "browser", *self._command],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._call(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self._downloads)
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._out)  # the browser ends when nobody can speak to it any more
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        os.close(self._in)

    def open(self, page: Path) -> float:
        """Show a file; how many seconds it took until it was loaded and painted."""
        began = time.perf_counter()
        self._loaded = False
        self._call("Page.navigate", url=page.as_uri())
        while not self._loaded:
            self._heard(time.monotonic() + _LIMIT_SEC)
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return time.perf_counter() - began

    def run(self, expression: str) -> Any:  # noqa: ANN401  # whatever the page says
        """The value of an expression in the page, waited for when it is a promise."""
        said = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in said:
            raise RuntimeError(json.dumps(said["exceptionDetails"])[:500])
        return said["result"].get("value")

    def press(self, *keys: str) -> None:
        """Type on the page."""
        for key in keys:
            self._call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
            self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def _call(self, method: str, **params: object) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        until = time.monotonic() + _LIMIT_SEC
        while True:
            heard = self._heard(until)
            if heard.get("id") == self._number:
                if "error" in heard:
                    problem = f"{method}: {heard['error']}"
                    raise RuntimeError(problem)
                result: dict[str, Any] = heard["result"]
                return result

    def _heard(self, until: float) -> dict[str, Any]:
        """The next message; what it tells of the page is kept."""
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                problem = "the browser does not answer"
                raise TimeoutError(problem)
            self._rest += piece
        first, _, self._rest = self._rest.partition(b"\0")
        heard: dict[str, Any] = json.loads(first)
        match heard.get("method"):
            case "Page.loadEventFired":
                self._loaded = True
            case "Network.requestWillBeSent":
                self.asked.append(heard["params"]["request"]["url"])
            case "Runtime.exceptionThrown" | "Log.entryAdded":
                self.complaints.append(json.dumps(heard["params"])[:300])
        return heard
