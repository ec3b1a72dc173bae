"""The prolog, its DOCTYPE, and the hardened parser (D16)."""

from pathlib import Path

import pytest

from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.parse.document import parse_document
from feedmill.parse.xml.names import read_prolog, without_doctype
from feedmill.parse.xml.repair import balance_tags, repair_xml
from feedmill.parse.xml.tree import cap_depth, parse_strictly, read_fragment, read_tree


@pytest.mark.parametrize(
    "prolog",
    [
        pytest.param("", id="nothing"),
        pytest.param('<?xml version="1.0"?>\n', id="a declaration"),
        pytest.param("<!-- <rss> --><?x <rss> ?>", id="tags that are none"),
        pytest.param("<!--><rss>-->", id="a comment that begins with its own end"),
        pytest.param('<!DOCTYPE rss SYSTEM "a>b">', id="a sign in quotes"),
        pytest.param("<!DOCTYPE rss [<!ENTITY a '<rss>'> <!-- ' --> <?x ]> ?>]>", id="a subset"),
        pytest.param("<!DOCTYPE rss [ >\n", id="brackets that do not balance"),
        pytest.param("<!DOCTYPE rss 'it>", id="a quote that never ends"),
        pytest.param("<!DOCTYPE a><!DOCTYPE b><!c><!d><!e><!f>", id="more than XML allows"),
    ],
)
def test_the_root_is_found_behind_whatever_stands_before_it(prolog: str) -> None:
    found = read_prolog(f"{prolog}<feed/>".encode(), 0)

    assert found.root == len(prolog)


@pytest.mark.parametrize("text", ["", "text", "<!-- ", "<?xml ", "<!DOCTYPE a", "<!-- --><!x '"])
def test_where_no_element_stands_there_is_no_root(text: str) -> None:
    assert read_prolog(text.encode(), 0).root == -1


def test_doctypes_are_blanked_without_moving_anything() -> None:
    text = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]> <!DOCTYPE d><rss/>'

    blank = without_doctype(text, read_prolog(text, 0))

    assert len(blank) == len(text)
    assert blank.split() == [b"<?xml", b'version="1.0"?>', b"<rss/>"]


def test_an_internal_subset_longer_than_anybody_needs_is_given_up() -> None:
    text = b"<!DOCTYPE a [" + b"[]" * 300_000 + b"]><rss/>"

    assert read_prolog(text, 0).root == text.index(b"<rss")


def test_declared_entities_are_not_expanded_and_no_file_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the secret")
    body = (
        f'<!DOCTYPE rss [<!ENTITY a "boom"><!ENTITY b SYSTEM "file://{secret}">]>'
        "<rss><channel><item><title>&a;|&b;</title></item></channel></rss>"
    )

    feed = parse_document(RawDocument(body=body.encode()))

    assert isinstance(feed, ParsedFeed)
    assert feed.entries[0].title is not None
    assert feed.entries[0].title.value == "&a;|&b;"
    assert [repair.code for repair in feed.repairs] == ["doctype-ignored", "stray-ampersands"]


def test_a_sound_document_is_not_touched() -> None:
    tree = read_tree(b"<rss><a>&amp;&lt;&#8217;&#x41;</a></rss>")

    assert tree is not None
    assert (tree.sound, tree.repairs, tree.cut, tree.deep) == (True, (), False, False)


@pytest.mark.parametrize("text", [b"", b"text", b"<", b"<!-- -->"])
def test_where_nothing_can_be_read_there_is_no_tree(text: bytes) -> None:
    assert read_tree(text) is None
    assert read_fragment(text) is None
    assert parse_strictly(text) is None


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("<a>&copy; &amp; &x; & &lt;</a>", "<a>© &amp; &amp;x; &amp; &lt;</a>"),
        ("<a><![CDATA[&copy; < ]]>&copy;</a>", "<a><![CDATA[&copy; < ]]>©</a>"),
        ("<a><!-- &copy; < -->&copy;</a>", "<a><!-- &copy; < -->©</a>"),
        ("<a b=c d='e' f=\"g\">x</a>", '<a b="c" d=\'e\' f="g">x</a>'),
        ("<a b=c/><a b=/c/d >", '<a b="c"/><a b="/c/d" >'),
        ("<a b=http://x/?y=z>", '<a b="http://x/?y=z">'),
        ("<a b>1<2 <3</a>", "<a b>1&lt;2 &lt;3</a>"),
        ("<a>\x08\ufffeb</a>", "<a>b</a>"),
        ("<a>x]]>y</a>", "<a>x]]&gt;y</a>"),
        ("<a>&#x110000;&#8;&#9;&#65;</a>", "<a>&#9;&#65;</a>"),
        ("<a>&NotEqualTilde;</a>", "<a>≂̸</a>"),
    ],
)
def test_text_is_mended_outside_of_cdata_and_comments(broken: str, mended: str) -> None:
    text, repairs = repair_xml(broken.encode())

    assert text.decode() == mended
    assert repairs
    assert repair_xml(text) == (text, ())


def test_nothing_is_mended_in_what_is_sound() -> None:
    text = b"<a b=\"c=d\" e='>'>&amp;&#8217;<![CDATA[&]]></a>"

    assert repair_xml(text) == (text, ())


@pytest.mark.parametrize(
    ("broken", "balanced"),
    [
        ("<a><b></a>", "<a><b></b></a>"),
        ("<a></b></a>", "<a></a>"),
        ("<a><b><c></a>", "<a><b><c></c></b></a>"),
        ("<a><br><img src='x'>t</a>", "<a><br/><img src='x'/>t</a>"),
        ("<a><b/><c d='/>'></c></a>", "<a><b/><c d='/>'></c></a>"),
        ("<a><![CDATA[</a><b>]]><!-- </a> -->", "<a><![CDATA[</a><b>]]><!-- </a> --></a>"),
        ("<a><a></a>", "<a><a></a></a>"),
        ("<a><title>b<link>c</a>", "<a><title>b</title><link>c</link></a>"),
        ("<a><title>b</titel><guid/></a>", "<a><title>b</title><guid/></a>"),
        (
            "<a><author><name>b<title>c</a>",
            "<a><author><name>b</name></author><title>c</title></a>",
        ),
        ("<a><title>b<b>c</b></title></a>", "<a><title>b<b>c</b></title></a>"),
        (
            "<a><description><p>b<link>c</link><pubDate>d</a>",
            "<a><description><p>b<link>c</link></p></description><pubDate>d</pubDate></a>",
        ),
        (
            "<source><id>b</id><title>c</title></source>",
            "<source><id>b</id><title>c</title></source>",
        ),
    ],
)
def test_what_was_left_open_is_closed(broken: str, balanced: str) -> None:
    assert balance_tags(broken.encode()).decode() == balanced


def test_a_fragment_is_read_as_it_is_where_it_is_sound_or_can_be_mended() -> None:
    sound, mended = read_fragment(b"<a><b/></a>"), read_fragment(b"<a>&nbsp;&#146;</a>")

    assert sound is not None
    assert [child.tag for child in sound] == ["b"]
    assert mended is not None
    assert mended.text == "\xa0’"


def test_what_is_nested_too_deeply_is_cut_and_its_neighbours_stay() -> None:
    root = parse_strictly(b"<a><b><c><d/></c><e/></b><f/></a>")
    assert root is not None

    assert cap_depth(root, 3)
    assert [element.tag for element in root.iter()] == ["a", "b", "c", "e", "f"]
    assert not cap_depth(root, 3)
    assert not cap_depth(None, 3)
