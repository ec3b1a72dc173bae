"""What is not a feed is named as what it is, and what is one is found behind what hides it."""

import pytest

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed, Unreadable
from feedmill.parse.document import parse_document

ITEM = "<item><guid>g1</guid></item>"
RSS = f'<rss version="2.0"><channel><title>T</title>{ITEM}</channel></rss>'
XML = '<?xml version="1.0"?>'


def unreadable(body: bytes | str) -> Unreadable:
    raw = body.encode() if isinstance(body, str) else body
    read = parse_document(RawDocument(body=raw))
    assert isinstance(read, Unreadable)
    return read


def feed_of(body: bytes | str, content_type: str | None = None) -> ParsedFeed:
    raw = body.encode() if isinstance(body, str) else body
    read = parse_document(RawDocument(body=raw, content_type=content_type))
    assert isinstance(read, ParsedFeed)
    assert [entry.id for entry in read.entries] == ["g1"]
    return read


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b" \r\n\t ", id="white space"),
        pytest.param(b"\xef\xbb\xbf", id="a lone mark"),
        pytest.param(b"\xff\xfe", id="a lone wide mark"),
        pytest.param(b"\xff\xfe\x00\x00", id="a lone wider mark"),
        pytest.param(b"\xef\xbb\xbf\n\xef\xbb\xbf", id="two marks"),
        pytest.param(b"\x00" * 300, id="only NUL"),
        pytest.param(" \n".encode("utf-16"), id="wide white space"),
        pytest.param(b" " * 300_000, id="a lot of it"),
    ],
)
def test_a_body_with_nothing_in_it_is_empty(body: bytes) -> None:
    assert unreadable(body).reason == "empty"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b"\x1f\x8b\x08\x00\x00", "gzip data", id="a coding nobody removed"),
        pytest.param(b"PK\x03\x04\x14\x00", "a zip archive", id="zip"),
        pytest.param(b"%PDF-1.7 <rss>", "a PDF", id="PDF"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "a PNG picture", id="PNG"),
        pytest.param(b"\xff\xd8\xff\xe0\x00\x10JFIF", "a JPEG picture", id="begins like a mark"),
        pytest.param(b"GIF89a", "a GIF picture", id="GIF"),
        pytest.param(b"\x00\x00\x00\x18ftypmp42", "an MP4 file", id="begins with NUL"),
        pytest.param(b"\x00\x00\x01\x00\x01\x00", "an icon", id="an icon"),
        pytest.param(b"ID3\x04\x00", "an MP3 file", id="MP3"),
        pytest.param(b"\x0b\x05\x80\x68\x65\x6c\x01\x03", "binary data", id="unknown to us"),
    ],
)
def test_files_of_other_kinds_are_binary(body: bytes, words: str) -> None:
    named = unreadable(body)

    assert named.reason == "binary"
    assert words in named.detail


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        pytest.param("<!DOCTYPE html><html><title>Blog</title>", "html-page", id="a page"),
        pytest.param("<html><body>see &lt;rss&gt; or <rss></body></html>", "html-page", id="talk"),
        pytest.param(f"{XML}<!DOCTYPE html><html><p>x</p></html>", "html-page", id="XHTML"),
        pytest.param(f"<!-- {RSS} --><html></html>", "html-page", id="a feed in its comment"),
        pytest.param("<div>just a fragment</div>", "html-page", id="a fragment"),
        pytest.param(
            "<html><title>example.com is for sale</title></html>", "html-page", id="a parked page"
        ),
        pytest.param("<html><title>Log in</title></html>", "login-page", id="by its title"),
        pytest.param("<html><title>用户登录</title></html>", "login-page", id="in Chinese"),
        pytest.param(
            "<html><title>Hi</title><input name=p type='password'></html>",
            "login-page",
            id="by its form",
        ),
        pytest.param("<html><title>Just a moment...</title></html>", "bot-wall", id="Cloudflare"),
        pytest.param(
            "<html><div class='g-recaptcha'></div></html>", "bot-wall", id="nothing but a captcha"
        ),
        pytest.param(
            f"<html><div class='g-recaptcha'></div>{'<p>An article.</p>' * 1000}</html>",
            "html-page",
            id="a captcha in the comment form of an article",
        ),
        pytest.param("<html><title>404 Not Found</title></html>", "error-document", id="404"),
        pytest.param("<html><title>404</title></html>", "error-document", id="nothing else"),
        pytest.param("<html><title>Blog | Page not found</title>", "error-document", id="later"),
        pytest.param(
            "<html><title>502 Bad Gateway</title></html>", "error-document", id="a proxy's"
        ),
        pytest.param(
            "<html><title>500 recipes for summer</title></html>", "html-page", id="a number"
        ),
    ],
)
def test_a_page_is_named(page: str, reason: str) -> None:
    assert unreadable(page).reason == reason


def test_the_title_of_a_page_is_shown() -> None:
    named = unreadable("<html><title>\n My   Blog </title></html>")

    assert named.detail == "an HTML page titled 'my blog' was served instead of a feed"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(f"{XML}<opml version='2.0'><body/></opml>", "opml", id="OPML"),
        pytest.param("<urlset xmlns='http://x/'><url/></urlset>", "not-a-feed", id="sitemap"),
        pytest.param("<sitemapindex/>", "not-a-feed", id="an index of sitemaps"),
        pytest.param("<svg xmlns='http://www.w3.org/2000/svg'/>", "not-a-feed", id="a picture"),
        pytest.param(
            "<h:html xmlns:h='http://www.w3.org/1999/xhtml'/>", "html-page", id="prefixed"
        ),
        pytest.param("<Error><Code>AccessDenied</Code></Error>", "error-document", id="S3"),
        pytest.param(
            "<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body>"
            "<s:Fault><faultcode>x</faultcode></s:Fault></s:Body></s:Envelope>",
            "error-document",
            id="a SOAP fault",
        ),
        pytest.param(
            "<stations><channel><name>One</name></channel></stations>",
            "not-a-feed",
            id="XML of another kind that has channels",
        ),
        pytest.param("hello, I am text", "not-a-feed", id="text"),
        pytest.param("if a < b then c", "not-a-feed", id="text with a sign in it"),
        pytest.param('<?xml version="1.0"', "malformed", id="cut in the declaration"),
        pytest.param(f"{XML}<!-- nothing -->", "malformed", id="only a comment"),
        pytest.param(f"{XML}< rss>", "malformed", id="no tag"),
        pytest.param(f"{XML}<тег/>", "not-a-feed", id="XML in another script"),
    ],
)
def test_other_documents_are_named(body: str, reason: str) -> None:
    assert unreadable(body).reason == reason


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"{XML}{RSS}", id="plainly"),
        pytest.param(f"<!DOCTYPE html>{RSS}", id="under a page's doctype"),
        pytest.param(f"<!-- <html> once --><!-- <rss> -->{RSS}", id="behind comments"),
        pytest.param(f"<!DOCTYPE rss [<!ENTITY a '<rss >'>]>{RSS}", id="behind a doctype"),
        pytest.param(RSS.encode("utf-16"), id="in wide bytes"),
    ],
)
def test_what_may_stand_before_a_root_is_no_junk(body: str | bytes) -> None:
    feed = feed_of(body, "text/html")

    assert "leading-junk" not in [repair.code for repair in feed.repairs]


@pytest.mark.parametrize(
    "junk",
    [
        pytest.param("\n\n", id="white space before the declaration"),
        pytest.param("Warning: foo() in /x.php on line 2\n", id="a warning as text"),
        pytest.param("<br />\n<b>Warning</b>: foo in <b>x</b><br />\n", id="a warning of PHP"),
        pytest.param("if (a < b) { }\n", id="debug output with a sign in it"),
        pytest.param("[debug] starting\n", id="debug output that begins like JSON"),
        pytest.param("<weird/>", id="an element, then a declaration"),
        pytest.param("<!-- never closed ", id="a comment that never ends"),
        pytest.param("\x00\x00\x00", id="NUL"),
    ],
)
def test_junk_before_a_feed_is_skipped_and_mentioned(junk: str) -> None:
    feed = feed_of(junk + XML + RSS)

    assert [repair.code for repair in feed.repairs] == ["leading-junk"]
    assert feed.entries[0].slice is not None
    assert feed.entries[0].slice.offset == len(junk + XML) + RSS.index(ITEM)


def test_a_warning_between_the_declaration_and_the_root_is_junk_too() -> None:
    feed = feed_of(f"{XML}<br /><b>Notice</b>: x<br />{RSS}")

    assert [repair.code for repair in feed.repairs] == ["leading-junk"]


def test_a_declaration_that_ends_wrongly_is_skipped() -> None:
    feed = feed_of(f"<?xml version='1.0'>{RSS}")

    assert [repair.code for repair in feed.repairs] == ["leading-junk"]


def test_broken_json_that_mentions_a_feed_is_still_broken_json() -> None:
    named = unreadable("[not json, see <?xml version='1.0'?><html></html>")

    assert named.reason == "malformed"


def test_a_body_over_the_limit_is_not_looked_at() -> None:
    read = parse_document(RawDocument(body=RSS.encode()), ParseLimits(max_bytes=10))

    assert isinstance(read, Unreadable)
    assert read.reason == "too-large"
