"""`feedmill duplicates` merges formats of one blog, and undoes it."""

from tests.support.command_line import Mill
from tests.support.subscribe_harness import feed_document

from feedmill_demo.server.server import Publisher


def test_one_blog_in_two_subscriptions_is_merged_and_the_merge_undone(
    mill: Mill, publisher: Publisher
) -> None:
    for path, numbers in (("/old.rss", (1, 2, 3, 4)), ("/new.rss", (2, 3, 4, 5))):
        publisher.script(path, feed_document(*numbers))
        mill.ok("add", "--as-is", publisher.url(path))
    mill.ok("sync")

    (pair,) = mill.json("duplicates")
    refused = mill("duplicates", "--merge")
    merged = mill.ok("duplicates", "--merge", "--yes")
    after = mill.json("list")["items"]
    (undoable,) = mill.json("duplicates", "--merged")["items"]
    again = mill.ok("add", undoable["url"])
    mill.ok("duplicates", "--undo", undoable["feed_id"])
    back = mill.json("list")["items"]

    assert pair["proof"] == "formats"
    assert "pass --yes" in refused.err
    assert "to undo it: feedmill duplicates --undo" in merged.text
    assert len(after) == 1
    assert again.text.startswith(f"already subscribed as {after[0]['id']}")
    assert len(back) == 2
    assert mill("duplicates", "--undo", "nothing").status == 1
    assert mill.json("verify")["problems"] == []
