"""Which validators to send to a server that does not answer 304 (H06).

A server may compare the ETag of another machine, or a date that it makes anew for each answer, and then
never answers 304 although one of the two alone would do. After three answers with nothing new, the ETag
alone is tried, then the date alone; what leads to a 304 is remembered. When nothing helps, both are sent
again and the search is repeated more and more rarely, because a server may be repaired.
"""

from msgspec.structs import replace

from feedmill.model.feed import ValidatorUse
from feedmill.model.fetch import Validators

TRIES = 3  # answers with nothing new before something else is tried
_SEARCH: tuple[ValidatorUse, ...] = ("both", "etag", "date")
EXHAUSTED = TRIES * len(_SEARCH)  # from here on nothing is known to help


def validators_to_send(
    validators: Validators | None, useless: int, remembered: ValidatorUse | None
) -> Validators | None:
    """The validators of the next request, after so many answers in a row that brought nothing new."""
    if validators is None or validators.etag is None or validators.last_modified is None:
        return validators
    match next_use(useless, remembered):
        case "etag":
            return replace(validators, last_modified=None)
        case "date":
            return replace(validators, etag=None)
        case _:
            return validators


def next_use(useless: int, remembered: ValidatorUse | None) -> ValidatorUse:
    """What to send next: what worked before, then each in turn, then both, with ever longer rests."""
    if useless < TRIES:
        return remembered or "both"
    turn = useless // TRIES
    if turn < len(_SEARCH):
        return _SEARCH[turn]
    # Turns 3, 6, 12, 24 … are followed by another search; the rest send both.
    start = len(_SEARCH)
    while start * 2 <= turn:
        start *= 2
    return _SEARCH[turn - start] if turn - start < len(_SEARCH) else "both"
