"""Feed moves and move candidates as JSON shapes and in sentences (D6)."""

from datetime import datetime, timedelta
from typing import Final

from feedmill.config import MovesConfig
from feedmill.model.addresses import mask_address
from feedmill.model.base import Value, filled
from feedmill.model.feed import Move, MoveCandidate, MoveSource

DEFAULT_MOVES: Final = MovesConfig()

_BY: Final[dict[MoveSource, str]] = {
    "redirect": "a permanent redirect",
    "itunes:new-feed-url": "itunes:new-feed-url in the document",
    "self": "the document's own link",
    "site": "the site of the lost feed",
    "https": "an answer by https",
    "manual": "hand",
}
_AGAINST: Final = {
    "not-the-same-feed": "what is served there is not the same feed",
    "leads-home": "it only leads back to where the feed lives",
    "undone": "the feed was moved back from there by hand; it is not tried again by itself",
    "loop": "the feed left that address less than a week ago",
    "taken": "the address belongs to another feed",
    "has-credentials": "the feed's credentials would be sent to another host",
    "no-feed-found": "the site of the lost feed leads to no other feed",
}


class MissingShape(Value):
    """What has to come before the address is adopted; all zero and false: nothing, at the next poll."""

    sightings: int
    hours: float
    proof: bool


class CandidateShape(Value):
    """An address that the feed may have moved to."""

    url: str
    source: str
    sightings: int
    first_seen_at: datetime
    last_seen_at: datetime
    attempts: int
    refuted_at: datetime | None
    retry_at: datetime | None
    reason: str
    missing: MissingShape


def candidate_shape(candidate: MoveCandidate, config: MovesConfig) -> CandidateShape:
    """The candidate with what is missing under these settings."""
    seen_for = candidate.last_seen_at - candidate.first_seen_at
    left = timedelta(hours=config.quarantine_hours) - seen_for
    return filled(
        CandidateShape,
        candidate,
        url=mask_address(candidate.url),
        missing=MissingShape(
            sightings=max(0, config.sightings - candidate.sightings),
            hours=round(max(0.0, left.total_seconds() / 3600), 2),
            proof=candidate.source != "redirect",
        ),
    )


def candidate_in_words(candidate: MoveCandidate, config: MovesConfig) -> tuple[str, ...]:
    """The candidate in sentences: who named it, how often, and why it is not adopted yet."""
    url = mask_address(candidate.url)
    if candidate.reason == "no-feed-found":
        again = "" if candidate.retry_at is None else f", and again {_when(candidate.retry_at)}"
        searched = f"searched {_when(candidate.last_seen_at)}{again}"
        return (f"It is lost, and its site {url} leads to no other feed: {searched}.",)
    seen = "once" if candidate.sightings == 1 else f"{candidate.sightings} times"
    named = f"It may have moved to {url}, named by {_BY[candidate.source]}"
    first = f"{named}, seen {seen} since {_when(candidate.first_seen_at)}."
    if candidate.reason:
        again = (
            "" if candidate.retry_at is None else f"; looked at again {_when(candidate.retry_at)}"
        )
        return first, f"It is not adopted: {refusal_in_words(candidate.reason)}{again}."
    return first, _missing_in_words(candidate_shape(candidate, config).missing)


def move_in_words(move: Move) -> str:
    """One change of address in a sentence."""
    how = f"by {_BY[move.source]}, proof: {move.proof}"
    where = f"from {mask_address(move.from_url)} to {mask_address(move.to_url)}"
    sentence = f"{_when(move.moved_at)}: {where} ({how})"
    return sentence if move.undone_at is None else f"{sentence}; undone {_when(move.undone_at)}"


def refusal_in_words(reason: str) -> str:
    """Why an address is not adopted; one that could not be fetched says the reason itself."""
    return _AGAINST.get(reason, f"it could not be fetched ({reason})")


def _missing_in_words(missing: MissingShape) -> str:
    wants = []
    if missing.sightings:
        wants.append(f"{missing.sightings} more sighting{'s' if missing.sightings > 1 else ''}")
    if missing.hours:
        wants.append(f"{missing.hours:.0f} more hours")
    if missing.proof:
        wants.append("a proof that it is the same feed")
    return (
        f"Missing: {', '.join(wants)}." if wants else "Nothing is missing: the next poll moves it."
    )


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}Z"
