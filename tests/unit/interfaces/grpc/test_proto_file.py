"""The proto file, the code made from it and the shapes that every door shares say the same."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.protobuf.message_factory import GetMessageClass
from tools.proto import GENERATED, NAMES, ROOT, generate

from feedmill.interfaces.grpc.generated import feedmill_pb2 as pb
from feedmill.interfaces.grpc.methods import GRPC_METHODS
from feedmill.model.canonical import Asked, Candidate, Canonical, FoundFeed
from feedmill.model.entry import Author, EntryEnclosure
from feedmill.model.event import Cursor, Event, RawRef, Revision, StoredEntry
from feedmill.model.feed import BodyRef
from feedmill.model.fetch import Hop
from feedmill.model.running.figures import FeedCounts, StoreSizes
from feedmill.publish import figure_shapes, move_shapes, shapes
from feedmill.publish import figure_shapes as host_shapes
from feedmill.publish import figure_shapes as simulation_shapes

# The version of the compiler is no part of what it says.
VERSION = re.compile(r"Protobuf Python Version: .*|(?<=PUBLIC,\n)(    \d+,\n){3}")

PAIRS: dict[str, tuple[type[msgspec.Struct], dict[str, str]]] = {
    "FeedPage": (shapes.FeedPage, {}),
    "Feed": (shapes.FeedDetail, {}),
    "FeedValidators": (shapes.FeedValidators, {}),
    "FeedSchedule": (shapes.FeedSchedule, {}),
    "PublisherHints": (shapes.PublisherHints, {}),
    "FeedStats": (shapes.FeedStats, {}),
    "FeedOverrides": (shapes.OverridesShape, {}),
    "MoveCandidate": (move_shapes.CandidateShape, {}),
    "MoveMissing": (move_shapes.MissingShape, {}),
    "AddFeedRequest": (shapes.FeedWish, {}),
    "FoundFeed": (FoundFeed, {}),
    "RefetchReply": (shapes.Refetch, {}),
    "DecisionPage": (shapes.DecisionPage, {}),
    "Decision": (shapes.DecisionShape, {}),
    "Outcome": (shapes.OutcomeShape, {}),
    "Step": (shapes.StepShape, {}),
    "Hint": (shapes.HintShape, {"value": "value_json"}),
    "FeedHealth": (shapes.HealthShape, {}),
    "Attempt": (shapes.Attempt, {}),
    "EntryPage": (shapes.EntryPage, {}),
    "Entry": (StoredEntry, {}),
    "Author": (Author, {}),
    "Enclosure": (EntryEnclosure, {}),
    "RawRef": (RawRef, {}),
    "RevisionPage": (shapes.RevisionPage, {}),
    "Revision": (Revision, {}),
    "ArticlePage": (shapes.ArticlePage, {}),
    "Article": (shapes.ArticleShape, {}),
    "EventPage": (shapes.EventPage, {}),
    "Event": (Event, {"data": "data_json"}),
    "Fetch": (shapes.FetchShape, {}),
    "BodyRef": (BodyRef, {}),
    "FeedFigures": (figure_shapes.FeedFigures, {}),
    "TotalFigures": (figure_shapes.TotalFigures, {}),
    "FiguresPoint": (figure_shapes.FiguresPoint, {}),
    "PollFigures": (figure_shapes.FiguresShape, {}),
    "Failure": (figure_shapes.FailureShape, {}),
    "OutcomeCount": (figure_shapes.OutcomeCount, {}),
    "Latency": (figure_shapes.LatencyShape, {}),
    "TopFeeds": (figure_shapes.TopFeeds, {}),
    "RankedFeed": (figure_shapes.RankShape, {}),
    "ServiceLevelsReply": (figure_shapes.ServiceLevels, {}),
    "ServiceLevel": (figure_shapes.LevelShape, {}),
    "StatusReply": (figure_shapes.StatusShape, {}),
    "FeedCounts": (FeedCounts, {}),
    "CursorPage": (shapes.CursorPage, {}),
    "Cursor": (Cursor, {}),
    "HostPage": (host_shapes.HostPage, {}),
    "Host": (host_shapes.HostShape, {}),
    "Simulation": (simulation_shapes.SimulationShape, {"settings": "settings_json"}),
    "SimulatedPolicy": (simulation_shapes.PolicyFigures, {}),
    "SimulatedFeed": (simulation_shapes.SimulatedFeed, {}),
    "StoreSizes": (StoreSizes, {}),
    "Hop": (Hop, {}),
    "Candidate": (Candidate, {}),
    "Asked": (Asked, {}),
}


def described(message: str) -> Any:
    return pb.DESCRIPTOR.message_types_by_name[message]


def test_the_generated_code_is_what_the_proto_file_makes(tmp_path: Path) -> None:
    generate(tmp_path)

    made = {name: VERSION.sub("", (tmp_path / name).read_text("utf-8")) for name in NAMES}

    kept = {name: VERSION.sub("", (GENERATED / name).read_text("utf-8")) for name in NAMES}
    assert kept == made, "run `make proto`"


def test_nothing_else_lies_beside_the_generated_code() -> None:
    found = {path.name for path in GENERATED.iterdir() if path.is_file()}

    assert found == {"__init__.py", *NAMES}


@pytest.mark.parametrize("message", PAIRS)
def test_a_message_has_the_fields_of_its_shape_and_no_others(message: str) -> None:
    shape, renamed = PAIRS[message]

    fields = {field.name for field in described(message).fields}

    assert fields == {renamed.get(name, name) for name in shape.__struct_fields__}


def test_a_change_can_say_everything_that_rest_can_change() -> None:
    fields = {field.name for field in described("ChangeFeedRequest").fields}

    assert fields - {"id", "update_mask"} == set(shapes.FeedChange.__struct_fields__)


def test_the_one_right_address_is_told_without_what_a_caller_remembers() -> None:
    fields = {field.name for field in described("CanonicalizeReply").fields}

    assert fields == set(Canonical.__struct_fields__) - {"existing"}


@pytest.mark.parametrize("message", PAIRS)
def test_what_may_be_unknown_can_be_left_out(message: str) -> None:
    """A field that may be null says so: a missing title is not an empty one."""
    shape, renamed = PAIRS[message]
    nullable = [
        renamed.get(field.name, field.name)
        for field in msgspec.structs.fields(shape)
        if isinstance(msgspec.inspect.type_info(field.type), msgspec.inspect.UnionType)
        and msgspec.inspect.type_info(field.type).includes_none  # type: ignore[attr-defined]
    ]

    by_name = described(message).fields_by_name
    absent = [
        name
        for name in nullable
        if not by_name[name].has_presence and not by_name[name].is_repeated
    ]

    assert absent == []


def test_every_method_of_the_proto_file_is_answered_and_no_other() -> None:
    services = pb.DESCRIPTOR.services_by_name.values()

    promised = {
        f"{service.name}/{method.name}" for service in services for method in service.methods
    }

    assert set(GRPC_METHODS) == promised


def test_every_message_is_used() -> None:
    used: set[str] = set()

    def visit(message: Any) -> None:
        if message.full_name not in used:
            used.add(message.full_name)
            for field in message.fields:
                if field.message_type is not None:
                    visit(field.message_type)

    for service in pb.DESCRIPTOR.services_by_name.values():
        for method in service.methods:
            visit(method.input_type)
            visit(method.output_type)

    assert {one.full_name for one in pb.DESCRIPTOR.message_types_by_name.values()} <= used
    assert all(GetMessageClass(described(name)) for name in PAIRS)


def test_the_reference_lists_every_method_with_its_scope() -> None:
    page = (ROOT / "docs" / "reference" / "grpc.md").read_text("utf-8")

    listed = re.findall(r"^\| `(\w+/\w+)` \| (\w+) \|", page, re.MULTILINE)

    assert listed == [(name, method.scope) for name, method in GRPC_METHODS.items()]
