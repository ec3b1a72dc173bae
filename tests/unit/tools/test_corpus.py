"""Losses against feedparser are found and explained (tools/corpus.py)."""

from pathlib import Path

from tools.corpus import REASONS, compare_corpus

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "run-the-conformance-suite.md"


def test_every_reason_is_in_the_how_to_and_nothing_else() -> None:
    rows = [line for line in HOW_TO.read_text("utf-8").splitlines() if line.startswith("| `")]

    assert [row.split("`")[1] for row in rows] == list(REASONS)


def test_losses_are_counted_with_their_reasons(tmp_path: Path) -> None:
    item = (
        "<item><title>One</title><dc:date>2024-01-02T03:04:05Z</dc:date>"
        "<description>&lt;!-- hidden --&gt;</description></item>"
    )
    head = (
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><title>T</title>'
    )
    (tmp_path / "a.xml").write_text(f"{head}{item}</channel></rss>", "utf-8")
    (tmp_path / "b.xml").write_text("<html><body>no feed</body></html>", "utf-8")
    (tmp_path / "notes.md").write_text("not read", "utf-8")

    report = compare_corpus(tmp_path)

    assert report.documents == 2
    assert report.ours["entries"] == report.theirs["entries"] == 1
    assert {(loss.field, loss.reason) for loss in report.losses} == {
        ("entry.updated", "published"),
        ("entry.summary", "no-visible-text"),
    }
    assert report.unexplained == []
