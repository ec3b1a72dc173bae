"""Without normalising, texts stay as published; what could run in a browser still goes."""

from feedmill.config import NormaliseConfig
from feedmill.model.parsed import Content, ParsedEntry, Text
from feedmill.normalise.entry import FeedContext, normalise_entry

PLAIN = NormaliseConfig(enabled=False)


def test_titles_and_summaries_keep_their_markup_and_inner_white_space() -> None:
    parsed = ParsedEntry(
        title=Text(value="  <b>Cats</b> &amp;\n\x00 dogs\x1b[31m ", kind="html"),
        summary=Text(value="<p>a</p>", kind="html"),
    )

    made = normalise_entry(parsed, FeedContext(), PLAIN)

    assert made.title == "<b>Cats</b> &amp;\n dogs[31m"
    assert made.summary == "<p>a</p>"


def test_what_was_not_published_is_not_made_up() -> None:
    parsed = ParsedEntry(contents=(Content(value="<p>text</p>", type="text/html"),))

    made = normalise_entry(parsed, FeedContext(), PLAIN)

    assert (made.title, made.summary, made.content) == (None, None, "<p>text</p>")


def test_content_is_sanitised_all_the_same() -> None:
    written = "<p onclick=x()>text</p><script>y()</script>"
    parsed = ParsedEntry(contents=(Content(value=written, type="text/html"),))

    made = normalise_entry(parsed, FeedContext(), PLAIN)

    assert made.content == "<p>text</p>"


def test_a_title_of_nothing_but_white_space_is_none() -> None:
    parsed = ParsedEntry(title=Text(value=" \x00 "))

    assert normalise_entry(parsed, FeedContext(), PLAIN).title is None
