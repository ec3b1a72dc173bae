"""A mill with its console open, and a browser without scripts: cookies, links and forms."""

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

from tests.support.rest_client import Answer, RestMill

from feedmill.interfaces.console.app import make_console

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class ConsoleMill(RestMill):
    """REST and the console on one port."""

    make_console = staticmethod(make_console)

    def browser(self) -> "Browser":
        """A browser without cookies."""
        return Browser(self)


class Browser:
    """Keeps cookies, follows redirects, sends forms with their token."""

    def __init__(self, mill: RestMill) -> None:
        self._mill = mill
        self.cookies: dict[str, str] = {}
        self.path = ""

    def open(self, path: str) -> Answer:
        """The page that the path leads to."""
        answer = self.ask(path)
        while answer.status == 303:
            path = answer.headers["location"]
            answer = self.ask(path)
        self.path = path
        return answer

    def send(self, path: str, fields: Mapping[str, Any], *, page: str = "/console/login") -> Answer:
        """Send a form as if `page` had shown it, and follow the answer."""
        shown = self.open(page)
        body = urlencode({"form_token": form_token(shown), **fields}, doseq=True).encode()
        answer = self.ask(path, method="POST", body=body, headers=FORM)
        self.path = path
        return self.open(answer.headers["location"]) if answer.status == 303 else answer

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request with the cookies; what it sets is kept."""
        own = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = self._mill.connect()
        try:
            sent = {**({"Cookie": own} if own else {}), **(headers or {})}
            connection.request(method, path, body=body, headers=sent)
            response = connection.getresponse()
            for name, value in response.getheaders():
                if name.lower() == "set-cookie":
                    self._keep(value)
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, response.read())
        finally:
            connection.close()

    def _keep(self, line: str) -> None:
        for name, morsel in SimpleCookie(line).items():
            if morsel["max-age"] == "0":
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.value


def form_token(answer: Answer) -> str:
    """The token of the first form of a page."""
    found = re.search(rb'name="form_token" value="([0-9a-f]+)"', answer.body)
    return "" if found is None else found[1].decode()


def text_of(answer: Answer) -> str:
    """What a person reads on a page, with single spaces."""
    reader = _Text()
    reader.feed(answer.body.decode())
    return " ".join("".join(reader.pieces).split())


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        if tag not in ("time", "small", "mark", "b", "code", "a"):
            self.pieces.append(" ")
