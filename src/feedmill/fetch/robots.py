"""robots.txt (RFC 9309), for pages that we crawl: discovery and articles, never a subscribed feed.

protego does the matching. The text is first reduced to what concerns us, because RFC 9309 wants
an exact product token where protego takes any beginning of it, because other records must not
break a group (2.2.4), and because thousands of agent lines would cost quadratic time.
"""

import re
from typing import Literal

import ada_url
from protego import Protego

Access = Literal["allow_all", "disallow_all", "use_rules", "refetch"]

MAX_BYTES = 512_000  # RFC 9309 2.5: at least 500 KiB
MAX_AGE_SEC = 24 * 3_600  # RFC 9309 2.4
UNREACHABLE_AFTER_SEC = 30 * 24 * 3_600  # RFC 9309 2.3.1.4: after that, as if there were none

_ABSURD_DELAY_SEC = 24 * 3_600
_AGENT = re.compile(r"user[-\s]*agent\s*[:\s]\s*(.*)", re.IGNORECASE | re.DOTALL)
_DELAY = re.compile(r"crawl[-\s]delay\s*[:\s]\s*(.*)", re.IGNORECASE | re.DOTALL)
_TOKEN = re.compile(r"[A-Za-z_-]+")  # RFC 9309 2.2.1
_NUMBER = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})")
_RULE = re.compile(r"(?:allow|di\w{4,8})\s*[:\s]", re.IGNORECASE)  # with the usual misspellings
_LINE_END = re.compile(r"\r\n|\r|\n")
_NOT_LINE_ENDS = {  # str.splitlines would cut here; RFC 9309 does not
    0x0B: "%0B", 0x0C: "%0C", 0x1C: "%1C", 0x1D: "%1D", 0x1E: "%1E", 0x85: "%C2%85",
    0x2028: "%E2%80%A8", 0x2029: "%E2%80%A9",
}  # fmt: skip
_SOMEBODY_ELSE = "%"  # no product token contains it, so no request of ours matches it


def robots_access(
    status: int | None,
    *,
    error: str | None = None,
    cached_age_sec: float = 0.0,
    unreachable_sec: float = 0.0,
) -> Access:
    """What may be assumed after asking for /robots.txt (RFC 9309 2.3.1).

    `status` is that of the last answer, `error` the reason why there is none. A chain of more
    redirects than we follow counts as "no such file" (2.3.1.2).
    """
    if cached_age_sec > MAX_AGE_SEC:
        return "refetch"
    if error in ("too-many-redirects", "redirect-loop"):
        return "allow_all"
    if error is not None or status is None or status >= 500 or status < 200:
        return "allow_all" if unreachable_sec > UNREACHABLE_AFTER_SEC else "disallow_all"
    if status < 300 and status not in (204, 205):
        return "use_rules"
    return "allow_all"


def decode_robots(body: bytes, max_bytes: int = MAX_BYTES) -> str:
    """The text of the file up to the limit; a line that the limit cuts is left out."""
    text = body[:max_bytes].decode("utf-8-sig", "replace")
    if len(body) <= max_bytes:
        return text
    return text[: max(text.rfind("\n"), text.rfind("\r")) + 1]


class Rules:
    """What one robots.txt means for one product; keep it as long as the text is good."""

    __slots__ = ("_product_token", "_protego")

    def __init__(self, text: str, product_token: str) -> None:
        self._product_token = product_token
        self._protego = _protego(text, product_token)

    def allow(self, url: str) -> bool:
        """Whether the URL may be fetched; an unreadable one may not."""
        path = _path_and_query(url)
        if path is None:
            return False
        return bool(self._protego.can_fetch(f"http://host{path}", self._product_token))

    def crawl_delay(self, *, max_sec: float | None = None) -> float | None:
        """Seconds between two requests that the file asks for, or None.

        Practice, not standard. Over a day is no wish but a mistake, and ignored; what is left
        is clamped to `max_sec`, where given.
        """
        delay = self._protego.crawl_delay(self._product_token)
        if delay is None or delay > _ABSURD_DELAY_SEC:
            return None
        return float(delay) if max_sec is None else min(float(delay), max_sec)


def _path_and_query(url: str) -> str | None:
    try:
        parsed = ada_url.URL(url)
    except ValueError:
        return None
    if parsed.protocol not in ("http:", "https:"):
        return None
    # Cut from the href: a lone "?" belongs to what is matched, and `search` leaves it out.
    return "/" + str(parsed.href).partition("#")[0].split("/", 3)[3]


def _protego(text: str, product_token: str) -> Protego:
    plain = text.removeprefix("\ufeff")[:MAX_BYTES].translate(_NOT_LINE_ENDS)
    lines = (_reduced(line, product_token) for line in _LINE_END.split(plain))
    return Protego.parse("\n".join(line for line in lines if line is not None))


def _reduced(line: str, product_token: str) -> str | None:
    """The line as protego shall see it; None for records that are none of our business."""
    record = line.partition("#")[0].strip()
    if (agent := _AGENT.match(record)) is not None:
        return f"User-agent: {_agent(agent[1], product_token)}"
    if (delay := _DELAY.match(record)) is not None:
        return f"Crawl-delay: {delay[1] if _NUMBER.fullmatch(delay[1]) else ''}"
    return record if _RULE.match(record) else None


def _agent(value: str, product_token: str) -> str:
    if value == "*" or value.startswith(("* ", "*\t")):
        return "*"
    token = _TOKEN.match(value)
    ours = token is not None and token[0].lower() == product_token.lower()
    return product_token if ours else _SOMEBODY_ELSE
