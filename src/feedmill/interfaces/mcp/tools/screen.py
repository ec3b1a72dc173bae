"""Tools list_topics and screen."""
# Tested in tests/integration/interfaces/mcp/

from typing import Annotated, Final, Literal, get_args

import msgspec
from msgspec.structs import replace
from pydantic import BaseModel, Field

from feedmill.app.screeners import default_topics, open_screeners
from feedmill.engine.two_phase.screen import screen_texts
from feedmill.engine.two_phase.sidecar_files import SavedWindow, read_screenings, write_screenings
from feedmill.interfaces.mcp.tool import Call, WindowId, mcp_state_of, tool
from feedmill.interfaces.mcp.untrusted import Row
from feedmill.model.base import fields_of
from feedmill.model.candidate import CandidateFile
from feedmill.model.screening import Screening, Suggestion, TopicSet
from feedmill.screen import topics as topic_sets
from feedmill.screen.language import screen_text_of

ShortLine = Annotated[str, Field(max_length=1_000)]
_EXAMPLES_SHOWN: Final = 6


class OwnTopic(BaseModel, extra="forbid"):
    """A custom topic; it is recognised by its examples, not by its name."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,40}$")
    name: str = Field(max_length=100)
    description: ShortLine = ""
    examples: list[ShortLine] = Field(
        default=[], max_length=50, description="Three or more sentences about the topic."
    )
    not_examples: list[ShortLine] = Field(default=[], max_length=50)
    keywords: list[ShortLine] = Field(default=[], max_length=50)


@tool("List topics", "read", reads=True)
async def list_topics(call: Call) -> Row:
    """List the bundled topics; `screen` accepts custom topics too."""
    del call
    return topics_shape(default_topics())


def topics_shape(topics: TopicSet) -> Row:
    """A topic set as agents see it."""
    shown = [
        fields_of(one, "id name description examples", examples=one.examples[:_EXAMPLES_SHOWN])
        for one in topics.topics
    ]
    return fields_of(topics, "name version", topics=shown)


@tool("Screen a window", "write", repeats=True, replaces=True, open_world=True)
async def screen_(
    call: Call,
    window_id: WindowId,
    topics: Annotated[
        list[str] | None, Field(description="Ids of topics; default: all.", max_length=100)
    ] = None,
    own_topics: Annotated[
        list[OwnTopic] | None, Field(description="Extend or override the default topics.")
    ] = None,
    method: Annotated[
        Literal["lexical", "embedding", "hybrid", "llm"],
        Field(description="hybrid: lexical and embedding together, as far as installed."),
    ] = "hybrid",
) -> Row:
    """Step 2: score every candidate of a window by topics: keep, unsure or drop, with reasons.

    A suggestion inserts nothing. Candidates that record_decisions judged keep that judgement.
    """
    state = mcp_state_of(call)
    kept = await state.window_library.window(window_id)
    known, warned = _known(own_topics or [], kept.file), list[str]()
    if topics or own_topics:
        wanted = topic_sets.choose_topics(known, topics or [])
        wanted = topic_sets.with_digest(replace(wanted, prompt=kept.file.prompt))
    else:
        wanted, unknown = topic_sets.topics_of_window(known, kept.file)
        warned += [
            f"the window was collected for {name!r}, which is not a topic" for name in unknown
        ]
    before = screenings_of(kept)
    judged = {number for number, one in before.items() if "agent" in one.methods}
    texts = [screen_text_of(one) for one in kept.file.candidates if one.candidate_id not in judged]
    warnings = [*warned, *topic_sets.weaknesses(wanted)]
    config = state.services.config
    async with open_screeners(config, method) as opened:
        warnings += opened.warnings
        made = await screen_texts(
            texts, wanted, opened.screeners, config.screen, asked=opened.asked, warn=warnings.append
        )
    now = state.services.clock.now()
    write_screenings(kept.path, kept.file, made, at=now, topics=wanted.topics)
    return _screened(kept, [*made, *(before[one] for one in sorted(judged))], wanted, warnings)


def _known(own: list[OwnTopic], file: CandidateFile) -> TopicSet:
    known = topic_sets.with_topics_of_window(default_topics(), file)
    if not own:
        return known
    text = msgspec.json.encode({"name": "own", "topics": [one.model_dump() for one in own]})
    return topic_sets.merge_topics(known, topic_sets.read_topics(text.decode()))


def _screened(
    kept: SavedWindow, made: list[Screening], topics: TopicSet, warnings: list[str]
) -> Row:
    return {
        "window_id": kept.id,
        **counts_of(made),
        "methods": sorted({method for one in made for method in one.methods}),
        "is_degraded": any(one.is_degraded for one in made),
        "warnings": [words[:500] for words in warnings[:20]],
        "topic_set": topics.version,
    }


def screenings_of(kept: SavedWindow) -> dict[int, Screening]:
    """The screening of each candidate that has one."""
    return {one.candidate_id: one for one in read_screenings(kept.path, kept.file)}


def counts_of(made: list[Screening]) -> Row:
    """How many candidates each suggestion was made for."""
    kinds = [one.suggestion for one in made]
    return {kind: kinds.count(kind) for kind in get_args(Suggestion)}
