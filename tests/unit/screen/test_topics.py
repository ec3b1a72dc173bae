"""Topic sets are read, checked, merged and chosen from; their version names their words."""

from datetime import UTC, datetime

import pytest
from msgspec import UNSET
from msgspec.structs import replace
from tests.support.sample_topics import BEES, TOPICS

from feedmill.errors import TopicError
from feedmill.model.candidate import CandidateFile, Window
from feedmill.model.screening import Topic, TopicSet
from feedmill.screen.topics import (
    choose_topics,
    is_thin,
    known_share,
    merge_topics,
    read_topics,
    topic_named,
    topics_of_window,
    weaknesses,
    with_digest,
    with_topics_of_window,
    write_topics,
)

TOML = """
name = "mine"
background = ["Anything."]
[[topic]]
id = "bees"
name = "Bees"
description = "Of bees."
examples = ["a", "b", "c"]
[[topic]]
id = "wax"
name = "Wax"
description = "Of wax."
"""

AT = datetime(2026, 11, 1, tzinfo=UTC)


def test_a_topic_file_may_be_toml_or_json_or_a_plain_list() -> None:
    from_toml = read_topics(TOML)
    from_json = read_topics('{"topics": [{"id": "a", "name": "A", "description": "d"}]}')
    from_list = read_topics(' [{"id": "a", "name": "A", "description": "d"}]')

    assert [topic.id for topic in from_toml.topics] == ["bees", "wax"]
    assert from_toml.background == ("Anything.",)
    assert from_json == from_list
    assert from_json.name == "custom"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("= nonsense", "neither TOML nor JSON"),
        ('{"topics": 3}', "neither TOML nor JSON"),
        ("[1]", "neither TOML nor JSON"),
        ("name = 'x'", "no topic in it"),
        ('[{"id": " ", "name": "A", "description": "d"}]', "has no id"),
        ('[{"id": "a", "name": " "}]', "needs a name and a description"),
        ('[{"id": "a", "name": "!!!", "description": "🙂", "examples": ["…"]}]', "no words"),
    ],
)
def test_a_topic_file_that_cannot_be_used_says_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(TopicError, match=said) as caught:
        read_topics(text)

    assert caught.value.reason == "bad-topics"


def test_every_mistake_is_reported_at_once() -> None:
    many = ",".join('{"id": "a", "name": "A", "description": "d"}' for _ in range(101))
    long = '{"id": "b", "name": "B", "examples": [' + ",".join(['"x"'] * 201) + "]}"

    with pytest.raises(TopicError) as caught:
        read_topics(f"[{many},{long}]")

    assert any("more than 100" in mistake for mistake in caught.value.mistakes)
    assert any("two topics" in mistake for mistake in caught.value.mistakes)
    assert any("more than 200" in mistake for mistake in caught.value.mistakes)


def test_own_topics_override_and_extend_the_others() -> None:
    merged = merge_topics(TOPICS, read_topics(TOML))

    assert [topic.id for topic in merged.topics] == ["bees", "night-trains", "wax"]
    assert merged.topics[0].name == "Bees"
    assert merged.background == (*TOPICS.background, "Anything.")
    assert merged.version != TOPICS.version


@pytest.mark.parametrize("name", ["bees", "养蜂", "Beekeeping", "Apiary", "养蜂 (beekeeping)"])
def test_a_topic_is_found_by_id_name_part_of_name_or_keyword(name: str) -> None:
    assert topic_named(TOPICS, name) == BEES


def test_topics_are_chosen_by_name_and_all_when_none_is_named() -> None:
    assert choose_topics(TOPICS, ()) is TOPICS
    assert [topic.id for topic in choose_topics(TOPICS, ["night_trains"]).topics] == [
        "night-trains"
    ]
    with pytest.raises(TopicError, match="no topic is called 'ships'"):
        choose_topics(TOPICS, ["ships"])


def test_a_topic_without_description_or_examples_is_called_weak() -> None:
    weak = with_digest(
        TopicSet(name="w", topics=(Topic(id="x", name="X", examples=("one",)), BEES))
    )

    assert len(weaknesses(weak)) == 1
    assert "no description" in weaknesses(weak)[0]
    assert "1 example" in weaknesses(weak)[0]
    assert weaknesses(TOPICS) == ()


def test_a_topic_whose_examples_contradict_each_other_is_called_weak() -> None:
    torn = replace(BEES, not_examples=(*BEES.not_examples, f" {BEES.examples[0].upper()}"))

    said = weaknesses(with_digest(TopicSet(name="t", topics=(torn,))))

    assert len(said) == 1
    assert "1 sentence is an example and a counter-example" in said[0]


def test_the_version_follows_the_words_and_nothing_else() -> None:
    assert with_digest(TOPICS).version == TOPICS.version


def test_a_written_topic_set_is_read_back_as_it_was() -> None:
    odd = Topic(
        id="a",
        name=chr(34) + "A" + chr(127) + chr(92),
        description="one line",
        examples=("é", "中"),
        not_examples=("n",),
        keywords=("k",),
    )
    known = with_digest(TopicSet(name="s", topics=(odd,), background=("b",)))

    bare = with_digest(TopicSet(name="s", topics=(Topic(id="b", name="B", description="d"),)))

    assert read_topics(write_topics(known)) == known
    assert read_topics(write_topics(bare)) == bare


def test_a_topic_is_thin_until_it_has_three_examples_and_well_known_with_a_dozen() -> None:
    topic = Topic(id="a", name="A", examples=("x",) * 2)

    assert is_thin(topic)
    assert known_share(topic) == 0.0
    assert not is_thin(replace(topic, examples=("x",) * 3))
    assert known_share(replace(topic, examples=("x",) * 8)) == 0.5
    assert known_share(replace(topic, examples=("x",) * 20)) == 1.0


def test_topics_that_travelled_with_a_window_are_used_whole_with_its_prompt() -> None:
    own = Topic(id="ships", name="Ships", description="Ferries.")
    file = CandidateFile(
        schema="", created_at=AT, window=Window(start=AT, end=AT), topics=("ships", "unheard"), prompt="p",
        sources=(), candidates=(), topic_set=(own,),
    )  # fmt: skip

    found, unknown = topics_of_window(with_topics_of_window(TOPICS, file), file)
    without = replace(file, topics=(), topic_set=UNSET)
    every, none = topics_of_window(with_topics_of_window(TOPICS, without), without)

    assert (found.topics, found.prompt, unknown) == ((own,), "p", ("unheard",))
    assert [one.id for one in found.rivals] == ["bees", "night-trains"]
    assert (every.topics, none) == (TOPICS.topics, ())
