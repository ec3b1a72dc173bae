"""What the books prove: a verdict on each promise from the publisher's log, the readers' and the store.

It knows nothing of the program that is judged and takes part in nothing: evidence goes in, findings
come out. A promise that was never put to the test is as bad as a broken one.

How requests and committed runs are told to belong together: of one feed, the run that was fetched at
t belongs to the last request whose answer had gone out by t. Two runs on one request, or a run
without one, is a breach.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from tools.chaos.plan import Plan

_APART_US: Final = 250_000  # two clocks, and the moment between an event and its note
_MICROS: Final = 1_000_000
# Of the time before a lease was lost, what its worker must have been ready to run without a processor: on a machine
# that gave it one, whoever loses a lease was slow itself.
_STARVED: Final = 0.25


class Asked(NamedTuple):
    """A request as the publisher saw it; seconds are monotonic, `*_at` wall-clock microseconds."""

    number: int
    host: str
    feed: int
    worker: str
    began: float
    began_at: int
    ended: float
    ended_at: int
    status: int = 200  # 0: the client left before its answer
    pause_sec: int = 0
    items: int = 0


class Ran(NamedTuple):
    """A committed run of a feed."""

    feed: int
    scheduled_at: int
    fetched_at: int
    status: int | None
    next_at: int | None  # when it was decided to ask again


class Fault(NamedTuple):
    """Something that was done to somebody, from when to when."""

    kind: str  # kill, stop, term, database, bus, …
    who: str
    began: float
    began_at: int
    ended: float
    ended_at: int
    # seconds in which it was ready to run and other programs had the processors
    waited: float = 0.0


class Lost(NamedTuple):
    """A lease that a worker told that it lost; with the feed whose commit was refused for it."""

    host: str
    at: int
    worker: str
    feed: int | None = None


class Evidence(NamedTuple):
    """Everything that is looked at."""

    asked: Sequence[Asked]
    ran: Sequence[Ran]
    due: Mapping[int, int]  # by feed, when it is due next, as the store has it in the end
    stored: Sequence[tuple[int, str]]  # feed and guid of every entry
    entry_ids: Sequence[str]
    log: Sequence[tuple[int, str, str, str | None]]  # number, id, type, entry of every event
    unnumbered: int  # events that have no number yet
    # by reader, number and id in the order of reading
    read: Mapping[str, Sequence[tuple[int, str]]]
    faults: Sequence[Fault]
    lost: Sequence[Lost]
    # by worker, how long it was ready to run and did not, so far: at what time, and seconds
    waits: Mapping[str, Sequence[tuple[int, float]]]
    refused: int  # commits that a worker was told came too late
    surprises: int  # faults of its own that a worker has told of
    late: int  # lanes that were due and that nobody had taken, in the end


class Finding(NamedTuple):
    """One promise: what was counted, and every breach of it in words."""

    promise: str
    counted: str
    breaches: Sequence[str] = ()


def judge(evidence: Evidence, plan: Plan) -> list[Finding]:
    """A finding for each promise, kept or not."""
    answers = match_runs(evidence)
    return [
        _runs_once(evidence),
        _runs_in_a_chain(evidence, plan),
        _answers_settled(evidence, answers, plan),
        _entries_once(evidence),
        _log_without_gaps(evidence),
        *(_read_whole(name, evidence) for name in sorted(evidence.read)),
        _no_overlap(evidence),
        _gaps_kept(evidence, plan),
        *_pauses_kept(evidence, answers, plan),
        _stale_refused(evidence, answers),
        _drained(evidence, plan),
        _nothing_left(evidence),
    ]


def is_kept(findings: Iterable[Finding]) -> bool:
    """True when no promise was broken."""
    return not any(finding.breaches for finding in findings)


def table(findings: Sequence[Finding]) -> str:
    """The findings for people, with the first breaches of each promise below it."""
    width = max(len(finding.promise) for finding in findings)
    return "\n".join(line for finding in findings for line in _lines(finding, width))


class Answers(NamedTuple):
    """Which run came of which request."""

    run_of: Mapping[int, Ran]  # by the number of the request
    strays: Sequence[Ran]  # runs that no request led to


def match_runs(evidence: Evidence) -> Answers:
    """Requests and the committed runs that came of them."""
    by_feed = _grouped(evidence.asked)
    run_of: dict[int, Ran] = {}
    strays: list[Ran] = []
    for run in evidence.ran:
        asked = by_feed.get(run.feed, [])
        ends = [one.ended_at for one in asked]
        at = bisect_right(ends, run.fetched_at + _APART_US) - 1
        if at < 0 or asked[at].number in run_of:
            if run.status is not None:  # without an answer there may have been no request
                strays.append(run)
            continue
        run_of[asked[at].number] = run
    return Answers(run_of, strays)


def _runs_once(evidence: Evidence) -> Finding:
    counted = Counter((run.feed, run.scheduled_at) for run in evidence.ran)
    twice = [f"feed {feed} ran {n} times for {at}" for (feed, at), n in counted.items() if n > 1]
    never = [f"feed {feed} never ran" for feed in evidence.due.keys() - _fed(evidence)]
    return Finding("each run committed once", f"{len(counted):,} runs", twice + never)


def _runs_in_a_chain(evidence: Evidence, plan: Plan) -> Finding:
    """Each run is the one that the run before decided on, unless a fault stood between.

    Whoever claims a feed moves its next run beyond the lease; when it dies, or is so slow that it
    loses the lease, that stands.
    """
    lost: dict[str, list[int]] = defaultdict(list)
    for one in _starved(evidence, plan):
        lost[one.host].append(one.at)
    by_feed: dict[int, list[Ran]] = defaultdict(list)
    for run in sorted(evidence.ran, key=lambda run: run.scheduled_at):
        by_feed[run.feed].append(run)
    breaches, moved, slow, links = [], 0, 0, 0
    for feed, runs in by_feed.items():
        ends = [*(run.scheduled_at for run in runs[1:]), evidence.due.get(feed, 0)]
        for run, came_at in zip(runs, ends, strict=True):
            links += 1
            if run.next_at is None or came_at == run.next_at:
                continue
            moved += 1
            if came_at < run.next_at:
                breaches.append(f"feed {feed} ran {run.next_at - came_at} us before its time")
            elif _struck(evidence.faults, run.next_at, came_at):
                continue
            elif any(run.next_at <= at <= came_at + _APART_US for at in lost[plan.host_of(feed)]):
                slow += 1
            else:
                breaches.append(f"feed {feed}: the run of {run.next_at} became that of {came_at}")
    return Finding(
        "no run lost, none moved but by a fault",
        f"{links:,} links, {moved} moved, {slow} by slowness",
        breaches,
    )


def _answers_settled(evidence: Evidence, answers: Answers, plan: Plan) -> Finding:
    """What was answered was committed, unless its worker was struck, starved or the database away.

    A commit is refused when the lease is over, and a lease lasts for some time after any answer: a refusal
    before that is a breach, however busy the machine.
    """
    starved = [one for one in _starved(evidence, plan) if one.feed is not None]
    breaches = [
        f"feed {run.feed}: a run at {run.fetched_at} without its own request"
        for run in answers.strays
    ]
    lease_us = int(plan.lease_sec * _MICROS)
    vain = [one for one in evidence.asked if one.feed >= 0 and one.number not in answers.run_of]
    covered_us = int(plan.covered_sec * _MICROS)
    slow = 0
    for one in vain:
        if _struck(evidence.faults, one.began_at, one.ended_at + lease_us, one.worker):
            continue
        if any(
            (late.worker, late.feed) == (one.worker, one.feed)
            and one.ended_at + covered_us <= late.at <= one.ended_at + 4 * lease_us
            for late in starved
        ):
            slow += 1
            continue
        breaches.append(
            f"feed {one.feed}: what {one.worker} was answered at {one.ended_at} came to nothing"
        )
    return Finding(
        "no answer lost but by a fault",
        f"{len(evidence.asked):,} requests, {len(vain)} in vain, {slow} by slowness",
        breaches,
    )


def _entries_once(evidence: Evidence) -> Finding:
    """Every item that was ever published is stored, and stored once."""
    published: dict[int, int] = defaultdict(int)
    for one in evidence.asked:
        published[one.feed] = max(published[one.feed], one.items)
    wanted = {
        (feed, f"{feed}-{n}") for feed, items in published.items() for n in range(1, items + 1)
    }
    counted = Counter(evidence.stored)
    breaches = [f"entry {guid} is stored {n} times" for (_, guid), n in counted.items() if n > 1]
    breaches += [f"entry {guid} is missing" for _, guid in sorted(wanted - counted.keys())]
    breaches += [f"entry {guid} was never published" for _, guid in sorted(counted.keys() - wanted)]
    return Finding("each item stored once", f"{len(counted):,} entries", breaches)


def _log_without_gaps(evidence: Evidence) -> Finding:
    numbers = [seq for seq, *_ in evidence.log]
    breaches = []
    if numbers != list(range(1, len(numbers) + 1)):
        odd = next((n for n, seq in enumerate(numbers, 1) if n != seq), len(numbers))
        breaches.append(f"the log is not 1 to {len(numbers)}: look at {odd}")
    ids = Counter(event for _, event, *_ in evidence.log)
    breaches += [f"event {event} stands {n} times in the log" for event, n in ids.items() if n > 1]
    if evidence.unnumbered:
        breaches.append(f"{evidence.unnumbered} events never got a number")
    told = Counter(entry for *_, kind, entry in evidence.log if kind == "new_entry")
    entries = set(evidence.entry_ids)
    breaches += [f"entry {entry} was told {n} times" for entry, n in told.items() if n > 1]
    breaches += [f"entry {entry} was never told" for entry in entries - told.keys()]
    breaches += [f"entry {entry} was told and is not there" for entry in told.keys() - entries]
    return Finding("each event in the log once, no gap", f"{len(numbers):,} events", breaches)


def _read_whole(name: str, evidence: Evidence) -> Finding:
    """A reader's first sight of each event, in the order of reading, is the log itself."""
    log = [(seq, event) for seq, event, *_ in evidence.log]
    read = evidence.read[name]
    first: dict[str, int] = {}
    for seq, event in read:
        first.setdefault(event, seq)
    seen = [(seq, event) for event, seq in first.items()]
    counted = f"{len(first):,} events, {len(read) - len(first)} again"
    if seen == log:
        return Finding(f"  read by {name}: all, in order", counted)
    known = {event for _, event in log}
    missing = [seq for seq, event in log if event not in first]
    strangers = [event for event in first if event not in known]
    words = f"missing {missing[:5]}, strangers {strangers[:5]}"
    return Finding(
        f"  read by {name}: all, in order",
        counted,
        [words if missing or strangers else "another order than the log's"],
    )


def _no_overlap(evidence: Evidence) -> Finding:
    breaches = [
        f"{later.host}: {later.worker} asked {earlier.ended - later.began:.3f} s before {earlier.worker} had its answer"
        for earlier, later in _neighbours(evidence)
        if later.began < earlier.ended
    ]
    hosts = {one.host for one in evidence.asked}
    return Finding("one request at a time per host", f"{len(hosts)} hosts", breaches)


def _gaps_kept(evidence: Evidence, plan: Plan) -> Finding:
    gaps = [
        (later.began - earlier.ended, earlier, later)
        for earlier, later in _neighbours(evidence)
        if later.began >= earlier.ended
    ]
    breaches = [
        f"{later.host}: {later.worker} asked {gap * 1000:.1f} ms after {earlier.worker}"
        for gap, earlier, later in gaps
        if gap < plan.gap_ms / 1000
    ]
    least = min((gap for gap, *_ in gaps), default=0.0)
    counted = f"{len(gaps):,} gaps, the least {least * 1000:.1f} ms"
    return Finding(f"at least {plan.gap_ms} ms between them", counted, breaches)


def _pauses_kept(evidence: Evidence, answers: Answers, plan: Plan) -> Iterator[Finding]:
    """Nobody asks a host within its Retry-After.

    A 429 that went out to a worker which was struck before it could store the pause is known to
    nobody; then the lease has to keep the others away for as long as it lasts.
    """
    by_host: dict[str, list[Asked]] = defaultdict(list)
    for one in sorted(evidence.asked, key=lambda one: one.began):
        by_host[one.host].append(one)
    for asks in (plan.short_pause_sec, plan.long_pause_sec):
        limits = [one for one in evidence.asked if one.pause_sec == asks]
        unheard = 0
        breaches = [] if limits else [f"no host asked for {asks} s: nothing was put to the test"]
        for one in limits:
            after = next((o for o in by_host[one.host] if o.began > one.ended), None)
            if after is None or after.began >= one.ended + asks:
                continue
            early = after.began - one.ended
            lost = one.number not in answers.run_of and _struck(
                evidence.faults, one.began_at, one.ended_at + _MICROS, one.worker
            )
            if lost and early >= min(asks, plan.covered_sec):
                unheard += 1
            else:
                breaches.append(f"{one.host}: {after.worker} asked {early:.2f} s after a 429")
        yield Finding(
            f"Retry-After: {asks} kept by everybody",
            f"{len(limits)} pauses, {unheard} nobody heard of",
            breaches,
        )


def _stale_refused(evidence: Evidence, answers: Answers) -> Finding:
    """No run is committed on a host that somebody else has asked since.

    Whether a stopped worker tries that is chance: one that had not sent its request yet does not send it.
    """
    by_host: dict[str, list[Asked]] = defaultdict(list)
    for one in sorted(evidence.asked, key=lambda one: one.began):
        by_host[one.host].append(one)
    breaches = [
        f"{one.host}: {one.worker} committed feed {one.feed} after {other.worker} had asked"
        for one in evidence.asked
        if (run := answers.run_of.get(one.number)) is not None
        for other in by_host[one.host]
        if one.ended_at < other.began_at < run.fetched_at and other.worker != one.worker
    ]
    return Finding(
        "stale commits refused", f"{evidence.refused} refused, {len(breaches)} written", breaches
    )


def _drained(evidence: Evidence, plan: Plan) -> Finding:
    drains = [
        (fault.who, fault.ended - fault.began - fault.waited)
        for fault in evidence.faults
        if fault.kind == "term"
    ]
    breaches = [f"{who} took {sec:.2f} s to leave" for who, sec in drains if sec >= plan.drain_sec]
    if not drains:
        breaches.append("nobody was told to leave: nothing was put to the test")
    worst = max((sec for _, sec in drains), default=0.0)
    return Finding(
        "SIGTERM to the end",
        f"{len(drains)} drains, the longest {worst * 1000:.0f} ms of its own",
        breaches,
    )


def _nothing_left(evidence: Evidence) -> Finding:
    breaches = []
    if evidence.late:
        breaches.append(f"{evidence.late} lanes are due and nobody takes them")
    if evidence.surprises:
        breaches.append(f"workers told of {evidence.surprises} faults of their own")
    return Finding("nothing left due, no surprise", f"{evidence.late} due", breaches)


def _neighbours(evidence: Evidence) -> Iterator[tuple[Asked, Asked]]:
    """Each request of a host with the one before it that ended last."""
    by_host: dict[str, list[Asked]] = defaultdict(list)
    for one in sorted(evidence.asked, key=lambda one: one.began):
        by_host[one.host].append(one)
    for asked in by_host.values():
        last = asked[0]
        for _, one in pairwise(asked):
            yield last, one
            last = max(last, one, key=lambda one: one.ended)


def _struck(faults: Iterable[Fault], since: int, until: int, who: str | None = None) -> bool:
    """Whether a fault lies in that time: the database's, or of this worker, or of any."""
    return any(
        fault.began_at - _APART_US <= until and fault.ended_at + _APART_US >= since
        for fault in faults
        if fault.kind == "database"
        or (fault.kind in ("kill", "stop", "term") and who in (None, fault.who))
    )


def _starved(evidence: Evidence, plan: Plan) -> list[Lost]:
    """The leases that were lost by a worker which, measured, had no processor for much of the time before."""
    lease_us = int(plan.lease_sec * _MICROS)
    return [
        one
        for one in evidence.lost
        if _waiting_share(evidence.waits.get(one.worker, ()), one.at - lease_us, one.at) >= _STARVED
    ]


def _waiting_share(waits: Sequence[tuple[int, float]], since: int, until: int) -> float:
    """The part of a time in which a worker waited for a processor, by the looks at it around that time."""
    times = [at for at, _ in waits]
    first = max(bisect_right(times, since) - 1, 0)
    last = min(bisect_right(times, until), len(waits) - 1)
    if last <= first:
        return 0.0
    (began_at, before), (ended_at, after) = waits[first], waits[last]
    return (after - before) * _MICROS / (ended_at - began_at)


def _grouped(asked: Iterable[Asked]) -> dict[int, list[Asked]]:
    by_feed: dict[int, list[Asked]] = defaultdict(list)
    for one in sorted(asked, key=lambda one: one.ended_at):
        by_feed[one.feed].append(one)
    return by_feed


def _fed(evidence: Evidence) -> set[int]:
    return {run.feed for run in evidence.ran}


def _lines(finding: Finding, width: int) -> Iterator[str]:
    word = "BROKEN" if finding.breaches else "kept"
    yield f"{finding.promise:<{width}}  {finding.counted:<40}  {word}"
    for breach in finding.breaches[:5]:
        yield f"    {breach}"
    if len(finding.breaches) > 5:
        yield f"    and {len(finding.breaches) - 5} more"
