"""The demonstration web: every kind of feed, on one loopback port, changing over time.

    web = DemoWeb(start=clock.now())
    async with Publisher(web) as publisher:
        addresses = web.addresses()

Time comes from the requests, which the publisher stamps; the sites read no clock. `pace`
compresses it: at pace 10 everything happens ten times as often, with dates to match. With
`hosts`, the houses are spread over that many further loopback addresses (give the publisher as
many), so that politeness towards one host does not delay all the others.
"""

from datetime import datetime
from html import escape
from typing import Final

from feedmill_demo.living_feed import EPOCH
from feedmill_demo.server.script import Answer, Request
from feedmill_demo.server.site import Site
from feedmill_demo.site_list import SITE_PLANS
from feedmill_demo.site_with_habits import DemoSite, SitePlan

_BY_NAME: Final = {plot.name: plot for plot in SITE_PLANS}


class DemoWeb(Site):
    """The demonstration's site. A house is built when it is first asked for."""

    def __init__(self, *, start: datetime = EPOCH, pace: float = 1.0, hosts: int = 0) -> None:
        self._hosts = hosts
        self._start = start
        self._pace = pace
        self._skipped_sec = 0.0
        self._homes: dict[str, str] = {}
        self._houses: dict[str, DemoSite] = {}
        self._opml = b""

    def opened(self, origin: str) -> None:
        self._homes = _homes(origin, self._hosts)
        self._houses = {}
        self._opml = demo_opml(origin, self._hosts).encode()

    def skip(self, seconds: float) -> None:
        """Let time pass at once."""
        self._skipped_sec += seconds

    def answer(self, request: Request) -> Answer | None:
        if request.path == "/village.opml":
            return Answer(
                headers=(("Content-Type", "text/x-opml; charset=utf-8"),), body=self._opml
            )
        _, name, way = (*request.path.split("/", 2), "", "")[:3]
        if name not in self._homes:
            return None
        return self.house(name).answer(way, request, request.offset_sec + self._skipped_sec)

    def house(self, name: str) -> DemoSite:
        """The house of that name, with its feed as it is at the last request."""
        if name not in self._houses:
            self._houses[name] = DemoSite(_BY_NAME[name], self._homes, self._start, self._pace)
        return self._houses[name]

    def addresses(self) -> dict[str, str]:
        """The address of every feed by the name of its house; empty before the publisher is open."""
        return {name: f"{home}feed" for name, home in self._homes.items()}


def site_descriptions() -> dict[str, str]:
    """What every house shows, in one line, by its name."""
    return {plot.name: plot.about for plot in SITE_PLANS}


def demo_opml(origin: str, hosts: int = 0) -> str:
    """The list of all feeds, for `feedmill import`."""
    homes = _homes(origin, hosts)
    rows = "".join(_outline(plot, homes[plot.name]) for plot in SITE_PLANS)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<opml version="2.0">\n'
        f"<head><title>The feedmill village</title></head>\n<body>\n{rows}</body>\n</opml>\n"
    )


def _homes(origin: str, hosts: int) -> dict[str, str]:
    """The address of every house by its name; each ends in a slash."""
    return {
        plot.name: f"{_origin_of(number, origin, hosts)}/{plot.name}/"
        for number, plot in enumerate(SITE_PLANS)
    }


def _origin_of(number: int, origin: str, hosts: int) -> str:
    return origin.replace("127.0.0.1", f"127.0.1.{1 + number % hosts}") if hosts else origin


def _outline(plot: SitePlan, home: str) -> str:
    return (
        f'<outline type="rss" text="{escape(plot.title)}" title="{escape(plot.title)}"'
        f' description="{escape(plot.about)}" htmlUrl="{home}" xmlUrl="{home}feed"/>\n'
    )
