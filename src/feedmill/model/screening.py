"""Screening: topics, scores per method, and a suggestion for each candidate (001).

A score never inserts anything. The verdict is keep, unsure or drop; a confirmation is
another step, and is recorded too.

Live screens are rules by which polling holds new entries for review.
"""
# Tested in tests/contracts/store/test_held_entries.py

from datetime import datetime
from typing import Literal

import msgspec

from feedmill.model.base import Value

Method = Literal["regex", "lexical", "embedding", "llm", "agent"]
Suggestion = Literal["keep", "unsure", "drop"]
EvaluationSet = Literal["sustainability", "independent"]  # the bundled ones


LiveScreenMethod = Literal["lexical", "embedding", "hybrid"]


class Topic(Value):
    """A topic to screen for, described well enough to be recognised in any words."""

    id: str
    name: str
    description: str = ""
    examples: tuple[str, ...] = ()  # sentences about it, in any language; three or more each
    not_examples: tuple[str, ...] = ()  # that sound like it and are not
    keywords: tuple[str, ...] = ()


class TopicSet(Value):
    """Topics that are screened for together; the version names their exact words."""

    name: str
    topics: tuple[Topic, ...]
    background: tuple[str, ...] = ()  # sentences about anything else
    prompt: str = ""  # what a person looks for, in their words; for language models
    rivals: tuple[Topic, ...] = ()  # scored too and never suggested: they win what is about them
    version: str = ""  # digest of everything above


class ScreenText(Value):
    """What a candidate is judged by: everything together, never the title alone."""

    ref: int  # the candidate's id
    title: str
    summary: str = ""
    categories: tuple[str, ...] = ()
    feed_title: str = ""
    hidden_chars: int = 0  # that were taken out: they are invisible, so they were hidden on purpose


class Score(Value):
    """What one method says of one text and one topic."""

    ref: int
    topic: str
    method: Method
    score: float  # 0 to 1, comparable within one method and run
    raw: float = 0.0
    reason: str = ""
    evidence: tuple[str, ...] = ()  # words of the text that spoke for it
    model_id: str = ""
    is_suspicious: bool = False  # the text tries to steer its reader
    z: float = 0.0  # standard deviations above texts about anything else; local methods only


class Judgement(Value):
    """A judgement on a text by a language model, or by an agent with its reasons."""

    ref: int
    topic: str | None  # None: about nothing that is looked for
    score: float  # 0 to 1
    reason: str
    decided_by: str = ""
    is_suspicious: bool = False


class Label(Value):
    """A confirmed or rejected candidate, with the scores that the methods had given it."""

    topic_set: str  # version
    topic: str
    z: dict[Method, float]
    is_relevant: bool


class Calibration(Value):
    """How the values of local methods become a probability: a logistic function of their sum."""

    weights: dict[Method, float]
    bias: float
    labels: int = 0  # confirmations it was learnt from; 0: it came with feedmill


class EvaluationEntry(Value):
    """One entry of an evaluation set: a text and what it is about."""

    id: str
    text: ScreenText
    topics: tuple[str, ...] = ()  # none: about nothing that is looked for
    lang: str = ""
    kind: str = ""
    split: str = ""


class Screening(Value):
    """The suggestion for one candidate."""

    candidate_id: int
    suggestion: Suggestion
    topic: str | None
    score: float
    methods: tuple[Method, ...]
    reason: str
    evidence: tuple[str, ...] = ()
    scores: tuple[Score, ...] = ()
    is_degraded: bool = False  # a method that was asked for was not there
    is_suspicious: bool = False
    topic_set: str = ""  # version
    decided_by: str = "feedmill"


class InsertResult(Value):
    """What an insertion did; the four counts add up to `selected`."""

    selected: int = 0
    new: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0  # repeats of another entry of its document, or older than what is stored
    feeds_added: int = 0
    entry_uids: tuple[str, ...] = ()  # of the new ones
    skipped_reasons: dict[int, str] = msgspec.field(default_factory=dict)  # by candidate


class Confirmation(Value):
    """Who confirmed what, when, and what they were shown."""

    confirmed_by: str
    confirmed_at: datetime
    file_digest: str
    candidate_ids: tuple[int, ...]
    # unreviewed: a person confirmed a whole window that was neither screened nor reviewed
    shown: Literal["terminal", "page", "command-line", "mcp", "unreviewed"]
    question: str = ""  # code of the question that was answered
    result: InsertResult | None = None  # on the line that is written after the insertion


class LiveScreen(Value):
    """A rule for new entries of one feed, or of every feed under a tag."""

    id: str
    created_at: datetime
    feed_id: str | None = None
    tag: str | None = None
    keep_at: float | None = None  # let through what scores so much; None: hold everything
    method: LiveScreenMethod = "hybrid"
    topics: TopicSet | None = None  # that are scored for; needed with `keep_at`


class HeldEntry(Value):
    """An entry that polling found and did not store; its bytes stay in the raw store."""

    feed_id: str
    entry_uid: str
    dedupe_key: str
    content_hash: str
    held_at: datetime
    fetch_id: str
    body_sha256: str
    slice_offset: int | None = None  # where it stands in that body
    title: str | None = None
    screening: Screening | None = None  # candidate_id 0: it has none before it is exported


class LiveScreenState(Value):
    """all live screens, and what they hold of one feed (001)."""

    screens: tuple[LiveScreen, ...] = ()  # all there are, the oldest first
    # entry_uid: content_hash, of what waits and of what was dropped
    held: dict[str, str] = msgspec.field(default_factory=dict)
