"""`feedmill topics`: a topic is written, tested on a window, and improved by labels."""

import asyncio
from pathlib import Path

import pytest
from tests.integration.interfaces.cli.commands.two_phase.test_screen_and_models import write_window
from tests.support.command_line import Mill

from feedmill.adapters.screeners.without_model import LexicalScreener
from feedmill.config import ScreenConfig
from feedmill.engine.two_phase.screen import Labelled, improve_topic
from feedmill.model.screening import ScreenText, Topic, TopicSet
from feedmill.screen.topics import read_topics, with_digest

ENTRIES = (
    ("Compost heap smells", "Turn the compost and add dry leaves to the heap."),
    ("Worms make compost", "A box of worms turns peelings into compost."),
    ("Leaves for the compost", "Old leaves and grass become compost in a year."),
    ("Compost without a garden", "A bucket with peelings becomes compost on the balcony."),
    ("The derby ends in a draw", "Two late goals kept both teams at the top."),
    ("Rates rise again", "The central bank sees inflation."),
    ("A film about the sea", "The director spent a year on a ship."),
    ("A new railway line", "Trains will run every hour between the cities."),
)
LINE = 'Humus of "kitchen" waste in a compost heap.'


@pytest.fixture
def window(mill: Mill) -> Path:
    path = mill.folder / "week.json"
    write_window(path, entries=ENTRIES)
    return path


def new(mill: Mill, *words: str) -> Path:
    mill.ok(
        "topics", "new", "compost", "--name", "Compost", "--description", LINE, "--file", "mine.toml", *words,
    )  # fmt: skip
    return mill.folder / "mine.toml"


def test_a_topic_is_written_and_read_back(mill: Mill) -> None:
    path = new(mill, "--example", "A heap of leaves.", "--not-example", "Compost Records, a label.")
    mill.ok("topics", "new", "b", "--name", "B", "--description", "d", "--file", "mine.toml")

    first, second = read_topics(path.read_text()).topics

    assert (first.name, first.description) == ("Compost", LINE)
    assert first.examples == ("A heap of leaves.",)
    assert first.not_examples == ("Compost Records, a label.",)
    assert second.id == "b"
    again = mill("topics", "new", "b", "--name", "B", "--description", "d", "--file", "mine.toml")
    assert again.status == 2


def test_a_topic_is_tested_on_a_window(mill: Mill, window: Path) -> None:
    path = new(mill)

    rows = mill.json("topics", "test", str(path), str(window))["items"]

    assert rows[0]["topic"] == "compost"
    assert "ompost" in rows[0]["title"]
    assert all(row["suggestion"] != "keep" for row in rows)
    assert "compost" in mill.ok("topics", "test", str(path), str(window)).text


def test_the_nearest_entries_of_each_topic_are_shown_also_where_none_fits(
    mill: Mill, window: Path
) -> None:
    path = new(mill)
    line = ("--description", "Ships that carry cars over the sea.", "--file", "mine.toml")
    mill.ok("topics", "new", "ferries", "--name", "Ferries", *line)

    rows = mill.json("topics", "test", str(path), str(window))["items"]

    assert [row["topic"] for row in rows] == ["compost"] * 5 + ["ferries"] * 5
    assert rows[5]["candidate_id"] == 7
    assert "drop" in {row["suggestion"] for row in rows[5:]}
    assert rows[5]["score"] > rows[9]["score"]


def test_labels_become_examples_and_before_and_after_are_shown(mill: Mill, window: Path) -> None:
    path = new(mill)
    labels = ("--about", "1-4", "--not-about", "5,6")

    said = mill.json("topics", "improve", str(path), str(window), *labels)

    assert said["labels"] == 6
    assert said["f1"][1] >= said["f1"][0]
    assert said["is_changed"]
    (topic,) = read_topics(path.read_text()).topics
    assert len(topic.examples) == 4
    assert "before" in mill.ok("topics", "improve", str(path), str(window), *labels).text


@pytest.mark.parametrize(
    "words",
    [
        ("--about", "1-4"),
        ("--about", "99", "--not-about", "1"),
        ("--about", "1-4", "--not-about", "4-6"),
        ("--topic", "x"),
        (),
    ],
)
def test_too_few_or_unknown_labels_change_nothing(
    mill: Mill, window: Path, words: tuple[str, ...]
) -> None:
    path = new(mill)
    before = path.read_text()

    assert mill("topics", "improve", str(path), str(window), *words).status == 2
    assert path.read_text() == before


def test_labels_that_contradict_the_topic_are_not_kept() -> None:
    known = Topic(id="t", name="Compost", description="Compost heap, compost of leaves.")
    topics = with_digest(TopicSet(name="x", topics=(known,)))
    wrong = [
        Labelled(ScreenText(ref=at, title=title, summary=summary), at > 4)
        for at, (title, summary) in enumerate(ENTRIES, 1)
    ]
    reference = (
        ScreenText(ref=0, title="The mayor opened a school."),
        ScreenText(ref=0, title="市长揭幕。"),
    )

    done = asyncio.run(
        improve_topic(topics, "t", wrong, [LexicalScreener(reference)], ScreenConfig())
    )

    assert done.f1_after >= done.f1_before
    assert done.is_changed or done.topic == known


@pytest.mark.parametrize(
    "words",
    [
        ("collect-window", "--last", "7d", "--all"),
        ("screen-live", "add", "--tag", "a", "--keep-at", "1"),
    ],
    ids=lambda words: words[0],
)
def test_topic_file_of_windows_is_read_and_one_that_is_no_text_is_refused(
    mill: Mill, words: tuple[str, ...]
) -> None:
    path = new(mill)
    text = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + text)
    known = mill(*words, "--topics", str(path))
    path.write_bytes(b"\xff" + text)

    refused = mill(*words, "--topics", str(path))

    assert "topics are neither" not in known.err
    assert (refused.status, "is not UTF-8 text" in refused.err) == (2, True)
