"""Web pages with a text of their own, for tests of full texts."""

from feedmill.adapters.extractor import answer_of
from feedmill.engine.run.services import Services
from feedmill.model.derived.fetched import ExtractedText, NoFullText, PageTask
from feedmill_demo.server.script import Answer

_SENTENCE = (
    "The river rose again on {0}, and the people of the lower town carried sand to the wall "
    "while the bells of the old church rang for an hour."
)


def page(number: int, *, words: int = 250, head: str = "", lang: str = "en") -> str:
    """A page whose text has about so many words, between a menu and a footer."""
    paragraphs = "".join(
        f"<p>{_SENTENCE.format(f'day {at} of story {number}')}</p>" for at in range(words // 28)
    )
    return (
        f"<!doctype html><html lang='{lang}'><head><title>Story {number}</title>{head}</head><body>"
        f"<nav><a href='/'>Home</a> <a href='/sport'>Sport</a></nav>"
        f"<article><h1>Story {number}</h1>{paragraphs}"
        f"<p onclick='steal()'>The end of story {number}.<script>alert(1)</script></p></article>"
        f"<footer><p>Imprint</p></footer></body></html>"
    )


def served(markup: str | bytes, kind: str = "text/html; charset=utf-8") -> Answer:
    """The page as a server answers with it."""
    body = markup.encode() if isinstance(markup, str) else markup
    return Answer(headers=(("Content-Type", kind),), body=body)


class ExtractorHere:
    """What the extractor's process does, in this one: it starts at once."""

    async def extract(self, task: PageTask) -> ExtractedText | NoFullText:
        """The text of the page, sanitised."""
        return answer_of(task)


def extracting_here(services: Services) -> Services:
    """The services with an extractor in this process."""
    return services._replace(extractor=ExtractorHere())
