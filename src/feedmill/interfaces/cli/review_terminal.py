"""Interactive review in the terminal: one command per line.

No command inserts anything: `confirm` ends the review with the confirmed selection.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from feedmill.engine.two_phase.sidecar_files import parse_ids
from feedmill.errors import CandidateError
from feedmill.interfaces.cli.output import shorten
from feedmill.model.base import Value
from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import Screening
from feedmill.screen.injection_signs import signs_of_candidate

PAGE_ITEMS: Final = 40
NO_TOPIC: Final = "no topic yet"
_RANK: Final = {"keep": 0, "unsure": 1, "drop": 3}
HELP: Final = (
    "3,7-9 choose or leave out · topic NAME choose the keeps of a topic · all · none · filter WORDS ·"
    " min SCORE · list · next · show N · open N · confirm · quit"
)


class ReviewReply(Value):
    """The output of a command, and the action that follows."""

    lines: tuple[str, ...] = ()
    open_url: str | None = None
    is_confirmed: bool = False
    is_over: bool = False


class ReviewSession:
    """One review: the candidates that are shown, in order, and those that were chosen."""

    def __init__(
        self,
        candidates: Sequence[WindowCandidate],
        screenings: Mapping[int, Screening],
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._said = screenings
        self._names = names or {}
        self._all = sorted(candidates, key=self._order)
        self._by_id = {one.candidate_id: one for one in candidates}
        self._shown = self._all
        self._at = 0
        self._words: tuple[str, ...] = ()
        self._min = 0.0
        self.chosen: set[int] = set()

    def answer(self, line: str) -> ReviewReply:
        """Run one command; an unknown one prints the help."""
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        match word.lower():
            case "":
                return self._page()
            case "q" | "quit":
                return ReviewReply(lines=("nothing was confirmed",), is_over=True)
            case "confirm":
                return self._confirm()
            case "all" | "none":
                return self._choose((o.candidate_id for o in self._shown), on=word == "all")
            case "topic":
                return self._choose_topic(rest)
            case "filter" | "min":
                return self._narrow(word, rest)
            case "list":
                self._at = 0
                return self._page()
            case "next":
                return self._page()
            case "show" | "open":
                return self._look(word, rest)
            case _:
                return self._toggle(line)

    def listing(self) -> tuple[str, ...]:
        """Every candidate that is shown, grouped by topic."""
        return self._lines(self._shown)

    def _page(self) -> ReviewReply:
        part = self._shown[self._at : self._at + PAGE_ITEMS]
        self._at += len(part)
        rest = len(self._shown) - self._at
        if not part:
            self._at = 0
            return ReviewReply(lines=("end of the list; `list` starts again", self._count()))
        more = (f"{rest} more: Enter",) if rest else ()
        return ReviewReply(lines=(*self._lines(part), *more, self._count()))

    def _lines(self, part: Sequence[WindowCandidate]) -> tuple[str, ...]:
        lines: list[str] = []
        topic: str | None = None
        for one in part:
            own = self.topic_of(one)
            if own != topic:
                topic = own
                lines.append(f"== {shorten(own, 80)}")
            lines.extend(self._row(one))
        return tuple(lines)

    def _row(self, one: WindowCandidate, *, has_reason: bool = True) -> tuple[str, ...]:
        said = self._said.get(one.candidate_id)
        mark = "[x]" if one.candidate_id in self.chosen else "[ ]"
        day = "undated   " if one.published_at is None else f"{one.published_at:%Y-%m-%d}"
        score = "" if said is None else f"{said.suggestion} {said.score:.2f} "
        known = " (stored already)" if one.is_known else ""
        title = shorten(one.title or "(without a title)", 120)
        first = f"{mark} {one.candidate_id:>5} {day} {score}{title}{known}"
        second = f"          {shorten(one.feed_title or '-', 60)}  {shorten(one.url or '-', 160)}"
        is_suspicious = (said is not None and said.is_suspicious) or bool(signs_of_candidate(one))
        warning = (
            ("          WARNING: this text tries to steer its reader",) if is_suspicious else ()
        )
        if said is None or not said.reason or not has_reason:
            return (first, second, *warning)
        return (first, second, *warning, f"          {shorten(said.reason, 160)}")

    def _look(self, word: str, rest: str) -> ReviewReply:
        one = self._by_id.get(int(rest)) if rest.isdecimal() else None
        if one is None:
            return ReviewReply(lines=(f"there is no candidate {shorten(rest, 20)!r} here",))
        if word == "open":
            is_web = one.url is not None and one.url.startswith(("http://", "https://"))
            return (
                ReviewReply(open_url=one.url)
                if is_web
                else ReviewReply(lines=("it has no web address",))
            )
        said = self._said.get(one.candidate_id)
        lines = [*self._row(one), shorten(one.summary or "", 1_000)]
        if one.categories:
            lines.append("categories: " + shorten(", ".join(one.categories), 300))
        if said is not None:
            lines.append(
                f"methods: {', '.join(said.methods)}; decided by {shorten(said.decided_by, 60)}"
            )
            lines += [
                f"  {s.method} {s.topic} {s.score:.2f} {shorten(s.reason, 160)}"
                for s in said.scores
            ]
            if said.evidence:
                lines.append("evidence: " + shorten(" · ".join(said.evidence), 300))
        return ReviewReply(lines=tuple(line for line in lines if line))

    def _narrow(self, word: str, rest: str) -> ReviewReply:
        if word == "min":
            try:
                self._min = float(rest or 0)
            except ValueError:
                return ReviewReply(lines=(f"{shorten(rest, 20)!r} is no score; write min 0.6",))
        else:
            self._words = tuple(rest.casefold().split())
        self._shown = [one for one in self._all if self._fits(one)]
        self._at = 0
        return self._page()

    def _fits(self, one: WindowCandidate) -> bool:
        said = self._said.get(one.candidate_id)
        if self._min > 0 and (said is None or said.score < self._min):
            return False
        parts = (
            one.title,
            one.summary,
            one.feed_title,
            one.url,
            *one.categories,
            self.topic_of(one),
        )
        text = " ".join(part for part in parts if part).casefold()
        return all(word in text for word in self._words)

    def _choose_topic(self, name: str) -> ReviewReply:
        wanted = name.casefold()
        own = [o for o in self._shown if wanted in self._spellings(o)]
        if not own:
            topics = sorted({self.topic_of(one) for one in self._shown})
            return ReviewReply(lines=("the topics here are: " + shorten(", ".join(topics), 300),))
        keeps = [o.candidate_id for o in own if self._said[o.candidate_id].suggestion == "keep"]
        if not keeps:
            words = f"none of {len(own)} is a keep; choose them by their ids"
            return ReviewReply(lines=(words,))
        return self._choose(keeps, on=True)

    def _spellings(self, one: WindowCandidate) -> tuple[str, ...]:
        said = self._said.get(one.candidate_id)
        topic = "" if said is None else said.topic or ""
        return (topic.casefold(), self.topic_of(one).casefold()) if topic else ()

    def _choose(self, ids: Iterable[int], *, on: bool) -> ReviewReply:
        wanted = set(ids)
        self.chosen = self.chosen | wanted if on else self.chosen - wanted
        return ReviewReply(lines=(self._count(),))

    def _toggle(self, line: str) -> ReviewReply:
        try:
            ids = set(parse_ids(line))
        except CandidateError:
            return ReviewReply(lines=(HELP,))
        unknown = sorted(ids - set(self._by_id))
        if unknown:
            return ReviewReply(lines=(f"there is no candidate {unknown[0]} here",))
        self.chosen ^= ids
        return ReviewReply(lines=(self._count(),))

    def _confirm(self) -> ReviewReply:
        if not self.chosen:
            return ReviewReply(lines=("nothing is selected yet", HELP))
        listed = [one for one in self._all if one.candidate_id in self.chosen]
        lines = (
            f"to be written: {len(listed)}",
            *(line for one in listed for line in self._row(one, has_reason=False)),
        )
        return ReviewReply(lines=lines, is_confirmed=True, is_over=True)

    def _count(self) -> str:
        return f"{len(self.chosen)} of {len(self._by_id)} chosen"

    def topic_of(self, one: WindowCandidate) -> str:
        """The topic that a candidate is grouped under."""
        said = self._said.get(one.candidate_id)
        topic = said.topic if said is not None else None
        return self._names.get(topic, topic) if topic else NO_TOPIC

    def _order(self, one: WindowCandidate) -> tuple[bool, str, int, float, int]:
        said = self._said.get(one.candidate_id)
        topic = self.topic_of(one)
        rank = 2 if said is None else _RANK[said.suggestion]
        return (
            topic == NO_TOPIC,
            topic,
            rank,
            0.0 if said is None else -said.score,
            one.candidate_id,
        )
