"""Which encoding a document is read in: marks, claims, detection, replacement (D15)."""

import codecs

import pytest

from feedmill.config import ParseLimits
from feedmill.model.fetch import RawDocument
from feedmill.model.parsed import ParsedFeed
from feedmill.parse.document import parse_document
from feedmill.parse.input.encoding import Decoded, decode
from feedmill.parse.input.encoding_labels import (
    ONE_BYTE,
    WIDE,
    codecs_of,
    ebcdic_of_label,
    encoding_of_label,
    is_allowed,
)

LIMITS = ParseLimits()
STRICT = ParseLimits(strict_encodings=True)


def rss(title: str, declared: str | None = None) -> str:
    declaration = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    items = f"<item><guid>g1</guid><title>{title}</title></item><item><guid>g2</guid></item>"
    return f'{declaration}<rss version="2.0"><channel>{items}</channel></rss>'


def read(body: bytes, content_type: str | None = None) -> ParsedFeed:
    feed = parse_document(RawDocument(body=body, content_type=content_type))
    assert isinstance(feed, ParsedFeed)
    return feed


def title_of(feed: ParsedFeed) -> str:
    assert len(feed.entries) == 2
    assert feed.entries[0].title is not None
    return feed.entries[0].title.value


def codes(feed: ParsedFeed | Decoded) -> list[str]:
    return [repair.code for repair in feed.repairs]


@pytest.mark.parametrize(
    ("codec", "text"),
    [
        pytest.param("utf-8-sig", "naïve 日本 🙂", id="UTF-8 with its mark"),
        pytest.param("utf-16", "naïve 日本 🙂", id="UTF-16 in this machine's order"),
        pytest.param("utf-32", "naïve 日本 🙂", id="UTF-32 in this machine's order"),
    ],
)
def test_a_byte_order_mark_beats_the_header_and_the_declaration(codec: str, text: str) -> None:
    body = rss(text, "windows-1251").encode(codec)

    feed = read(body, "text/xml; charset=koi8-r")

    assert title_of(feed) == text
    assert feed.encoding_source == "bom"
    assert codes(feed) == []


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_a_marked_document_with_half_a_character_at_its_end_is_still_read(mark: bytes) -> None:
    codec = "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"

    feed = read(mark + rss("é").encode(codec) + b"\x00")

    assert title_of(feed) == "é"
    assert "encoding-replaced" in codes(feed)


def test_marks_of_concatenated_files_are_all_skipped() -> None:
    feed = read(codecs.BOM_UTF8 * 3 + rss("é").encode())

    assert title_of(feed) == "é"
    assert feed.entries[0].slice is not None
    assert feed.entries[0].slice.offset == 9 + rss("é").index("<item>")


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("blank", ["", "\n"])
def test_wide_encodings_are_seen_without_a_mark(codec: str, blank: str) -> None:
    feed = read((blank + rss("日本", "utf-16")).encode(codec))

    assert title_of(feed) == "日本"
    assert feed.encoding_source == "detected"


@pytest.mark.parametrize(
    ("declared", "codec", "text"),
    [
        pytest.param("gb2312", "gb18030", "中文新闻", id="gb2312 means gb18030"),
        pytest.param("GBK", "gbk", "镕朱", id="beyond gb2312"),
        pytest.param("big5", "big5", "中文新聞", id="Big5"),
        pytest.param("Shift_JIS", "cp932", "表示①ソ", id="trail bytes like a backslash"),
        pytest.param("EUC-JP", "euc_jp", "日本語", id="EUC-JP"),
        pytest.param("euc-jp", "euc_jisx0213", "①日本", id="vendor characters in EUC-JP"),
        pytest.param("ISO-2022-JP", "iso2022_jp", "日本語", id="ISO-2022-JP"),
        pytest.param("iso-2022-jp", "iso2022_jp_3", "①日本", id="vendor characters in JIS"),
        pytest.param("euc-kr", "cp949", "한국어 똠", id="beyond KS X 1001"),
        pytest.param("koi8-r", "koi8_r", "Привет", id="KOI8-R"),
        pytest.param("windows-1251", "cp1251", "Привет", id="windows-1251"),
        pytest.param("iso-8859-1", "cp1252", "“quoted” café", id="latin-1 means windows-1252"),
        pytest.param("us-ascii", "cp1252", "café", id="and so does ASCII"),
        pytest.param("iso-8859-2", "iso8859_2", "Zażółć", id="latin-2"),
        pytest.param("tis-620", "cp874", "ข่าว", id="Thai"),
        pytest.param("macintosh", "mac_roman", "Ünï", id="an old Macintosh"),
    ],
)
def test_a_declared_encoding_that_fits_is_believed(declared: str, codec: str, text: str) -> None:
    in_declaration = read(rss(text, declared).encode(codec))
    in_header = read(rss(text).encode(codec), f"text/xml; charset={declared}")

    assert title_of(in_declaration) == title_of(in_header) == text
    assert in_declaration.encoding_source == "declaration"
    assert in_header.encoding_source == "http"


def test_the_header_is_believed_before_the_declaration() -> None:
    feed = read(rss("Привет", "koi8-r").encode("cp1251"), 'text/xml; charset="windows-1251"')

    assert title_of(feed) == "Привет"
    assert (feed.encoding, feed.encoding_source) == ("windows-1251", "http")


def test_the_declaration_is_believed_where_the_header_cannot_be_right() -> None:
    feed = read(rss("Привет", "windows-1251").encode("cp1251"), "text/xml; charset=utf-8")

    assert title_of(feed) == "Привет"
    assert codes(feed) == ["encoding-mismatch"]


@pytest.mark.parametrize(
    ("header", "text"),
    [
        pytest.param("windows-1251", "Привет", id="Cyrillic"),
        pytest.param("koi8-r", "Привет", id="KOI8-R"),
        pytest.param("iso-8859-9", "Şişli", id="Turkish"),
        pytest.param("windows-1253", "Καλημέρα", id="Greek"),
        pytest.param("macintosh", "Ærø", id="an old Macintosh"),
    ],
)
def test_bytes_that_are_utf8_beat_a_label_of_one_byte_a_letter(header: str, text: str) -> None:
    feed = read(rss(text).encode(), f"text/xml; charset={header}")

    assert (title_of(feed), feed.encoding) == (text, "utf-8")
    assert codes(feed) == ["encoding-mismatch"]


def test_a_declaration_of_utf8_that_fits_beats_any_header() -> None:
    feed = read(rss("中文", "utf-8").encode(), "text/xml; charset=gbk")

    assert (title_of(feed), feed.encoding) == ("中文", "utf-8")
    assert codes(feed) == ["encoding-mismatch"]


def test_a_header_of_plain_ascii_does_not_beat_what_the_document_says_of_itself() -> None:
    feed = read(rss("Привет", "windows-1251").encode("cp1251"), "text/xml; charset=us-ascii")

    assert title_of(feed) == "Привет"
    assert feed.encoding_source == "declaration"


def test_utf8_under_a_western_label_is_utf8() -> None:
    feed = read(rss("café", "iso-8859-1").encode())

    assert title_of(feed) == "café"
    assert (feed.encoding, codes(feed)) == ("utf-8", ["encoding-mismatch"])


@pytest.mark.parametrize(
    "label",
    [
        pytest.param("utf-7", id="never honoured"),
        pytest.param("unicode_escape", id="a codec of Python, not an encoding"),
        pytest.param("x-made-up", id="nobody's"),
        pytest.param("utf-16", id="plainly not wide"),
    ],
)
def test_a_label_that_cannot_be_is_ignored(label: str) -> None:
    body = rss("+ADw-b+AD4- \\u003cb café", label).encode()

    feed = read(body, f"application/rss+xml; charset={label}")

    assert title_of(feed) == "+ADw-b+AD4- \\u003cb café"
    assert codes(feed) == ["encoding-mismatch", "encoding-mismatch"]


def test_the_holes_of_windows_1252_do_not_spoil_its_other_letters() -> None:
    body = rss("It’s @", "windows-1252").encode("cp1252").replace(b"@", b"\x81")

    feed = read(body)

    assert title_of(feed) == "It’s \x81"
    assert feed.entries[0].slice is not None


def test_a_declaration_is_found_behind_junk() -> None:
    warning = b"<br />\n<b>Warning</b>: something in <b>/index.php</b><br />\n"

    feed = read(warning + rss("Привет", "koi8-r").encode("koi8-r"))

    assert title_of(feed) == "Привет"
    assert feed.encoding_source == "declaration"


@pytest.mark.parametrize(
    ("declared", "codec", "text"),
    [
        pytest.param("gb2312", "gbk", "中文新闻", id="simplified Chinese"),
        pytest.param("Shift_JIS", "cp932", "日本語", id="Japanese"),
        pytest.param("iso-2022-jp", "iso2022_jp", "日本語", id="seven-bit Japanese"),
    ],
)
def test_a_declaration_of_several_bytes_beats_a_header_of_one(
    declared: str, codec: str, text: str
) -> None:
    feed = read(rss(text, declared).encode(codec), "text/xml; charset=ISO-8859-1")

    assert title_of(feed) == text
    assert feed.encoding_source == "declaration"


def test_a_header_of_one_byte_is_followed_where_the_declaration_does_not_fit() -> None:
    feed = read(rss("café", "gb2312").encode("latin-1"), "text/xml; charset=ISO-8859-1")

    assert title_of(feed) == "café"
    assert codes(feed) == ["encoding-mismatch"]


def test_a_declaration_quoted_inside_an_entry_is_not_the_documents() -> None:
    sample = '<![CDATA[<?xml version="1.0" encoding="shift_jis"?> é]]>'

    feed = read(rss(sample).encode())

    assert feed.encoding == "utf-8"


@pytest.mark.parametrize(
    ("codec", "text", "encoding"),
    [
        pytest.param("cp1252", "It’s café “x”", "windows-1252", id="cp1252 in undeclared bytes"),
        pytest.param("latin-1", "señor", "windows-1252", id="one lone letter"),
        pytest.param("latin-1", "Fête à Paris: élèves, été. " * 9, "windows-1252", id="many"),
        pytest.param("cp1251", "Привет мир, это новости. " * 9, "windows-1251", id="Russian"),
        pytest.param("koi8-r", "Привет мир, это новости. " * 9, "koi8-r", id="older Russian"),
        pytest.param("euc_jp", "日本語のニュースです。" * 20, "euc-jp", id="Japanese"),
        pytest.param("cp932", "日本語のニュースです。" * 20, "shift_jis", id="other Japanese"),
        pytest.param("iso2022_jp", "日本語のニュース", "iso-2022-jp", id="seven-bit Japanese"),
        pytest.param("big5", "中文新聞標題測試" * 20, "big5", id="Chinese"),
        pytest.param(
            "gbk", "欧冠第一出线，人民生活水平不断提高。", "gb18030", id="simplified Chinese"
        ),
        pytest.param("euc_kr", "국민 생활이 향상될 것으로 기대됩니다.", "euc-kr", id="Korean"),
    ],
)
def test_undeclared_encodings_are_detected(codec: str, text: str, encoding: str) -> None:
    feed = read(rss(text).encode(codec))

    assert title_of(feed) == text.strip()
    assert (feed.encoding, feed.encoding_source) == (encoding, "detected")
    assert codes(feed) == ["encoding-detected"]


def test_cp1252_bytes_in_a_document_that_claims_utf8_are_read_as_such() -> None:
    feed = read(rss("It’s café “x”", "utf-8").encode("cp1252"))

    assert title_of(feed) == "It’s café “x”"
    assert codes(feed) == ["encoding-mismatch", "encoding-detected"]


def test_the_sample_begins_where_the_text_does() -> None:
    markup = "<description>" + "plain text " * 2_000 + "</description>"
    text = "Привет мир, это новости. " * 20

    feed = read(rss(f"{text}</title>{markup}<title>").encode("koi8-r"))

    assert feed.encoding == "koi8-r"


def test_a_few_stray_bytes_in_utf8_are_damage_and_not_another_encoding() -> None:
    body = rss("žluťoučký kůň @").encode().replace(b"@", b"\xff\xfe")

    feed = read(body)

    assert title_of(feed) == "žluťoučký kůň \ufffd\ufffd"
    assert (feed.encoding, feed.encoding_source) == ("utf-8", "replaced")
    assert codes(feed) == ["encoding-replaced"]


def test_a_sequence_cut_in_the_middle_is_damage_where_utf8_is_claimed() -> None:
    body = rss("abc@", "utf-8").encode().replace(b"@", b"\xe2\x82")

    feed = read(body)

    assert title_of(feed) == "abc\ufffd"
    assert codes(feed) == ["encoding-mismatch", "encoding-replaced"]


def test_a_damaged_document_keeps_the_encoding_it_declares_if_that_loses_less() -> None:
    body = rss("中文新闻标题@", "gb2312").encode("gb18030").replace(b"@", b"\xb0 ")

    feed = read(body)

    assert title_of(feed) == "中文新闻标题\ufffd"
    assert (feed.encoding, feed.encoding_source) == ("gb18030", "replaced")


def test_bytes_that_nobody_can_name_become_replacement_characters() -> None:
    body = rss("@" * 60).encode().replace(b"@", b"\x81\xfe\x9d")

    feed = read(body)

    assert "\ufffd" in title_of(feed)
    assert feed.encoding_source == "replaced"


def test_an_escape_sequence_alone_does_not_make_a_document_japanese() -> None:
    body = rss("costs \x1b$5").encode()

    decoded = decode(body, None, LIMITS)

    assert (decoded.utf8, decoded.encoding, decoded.source) == (body, "utf-8", "utf-8")
    assert decoded.repairs == ()


@pytest.mark.parametrize(
    ("page", "declared"),
    [
        pytest.param("cp037", "cp037", id="the American page"),
        pytest.param("cp500", "IBM500", id="the international page"),
        pytest.param("cp273", "ebcdic-cp-de", id="the German page"),
        pytest.param("cp1140", "ibm01140", id="with the euro"),
        pytest.param("cp037", "utf-8", id="a declaration that was not rewritten"),
        pytest.param("cp037", None, id="no encoding in the declaration"),
    ],
)
def test_ebcdic_is_read_where_the_bytes_begin_like_it(page: str, declared: str | None) -> None:
    text = rss("café [x]", declared or "utf-8").replace("?>", "?>\x85")
    if declared is None:
        text = text.replace(' encoding="utf-8"', "")

    feed = read(text.encode(page))

    assert title_of(feed) == "café [x]"
    assert feed.encoding == page
    assert feed.entries[0].slice is not None


@pytest.mark.parametrize(
    ("declared", "codec", "encoding"),
    [
        pytest.param("windows-1252", "cp1252", "windows-1252", id="on the list"),
        pytest.param("latin1", "cp1252", "windows-1252", id="by another name"),
        pytest.param("windows-1251", "cp1251", "utf-8", id="declared but not on the list"),
    ],
)
def test_strict_mode_holds_declared_labels_to_the_list(
    declared: str, codec: str, encoding: str
) -> None:
    text = "é" if codec == "cp1252" else "Привет мир, это новости"

    decoded = decode(rss(text, declared).encode(codec), None, STRICT)

    assert decoded.encoding == encoding


def test_strict_mode_holds_detection_to_the_list_too() -> None:
    body = rss("Привет мир, это новости. " * 9).encode("cp1251")

    assert decode(body, None, STRICT).source == "replaced"
    assert decode(body, None, LIMITS).source == "detected"


def test_a_detector_that_names_what_the_web_does_not_know_is_not_believed() -> None:
    body = rss("Příliš žluťoučký kůň úpěl ďábelské ódy. " * 9).encode("cp852")

    assert decode(body, None, LIMITS).source == "replaced"


def test_confidence_can_be_demanded() -> None:
    body = rss("Привет мир, это новости. " * 9).encode("cp1251")

    certain = ParseLimits(encoding_confidence_min=0.999)

    assert decode(body, None, certain).source == "replaced"


def test_an_empty_document_is_utf8() -> None:
    assert decode(b"", None, LIMITS).encoding == "utf-8"


@pytest.mark.parametrize(
    ("content_type", "encoding"),
    [
        pytest.param("text/xml; charset=koi8-r", "koi8-r", id="plain"),
        pytest.param("text/xml;charset='KOI8-R'", "koi8-r", id="quoted, in capitals"),
        pytest.param("text/xml; charset = koi8-r; x=y", "koi8-r", id="spaced"),
        pytest.param("text/xml; charset=", "utf-8", id="empty"),
        pytest.param("text/xml", "utf-8", id="absent"),
    ],
)
def test_the_charset_is_found_in_a_content_type(content_type: str, encoding: str) -> None:
    assert decode(b"<rss/>", content_type, LIMITS).encoding == encoding


def test_every_encoding_has_codecs_that_exist() -> None:
    encodings = {*ONE_BYTE, *WIDE, "utf-8", "gb18030", "big5", "euc-jp", "iso-2022-jp", "euc-kr"}

    found = {codecs.lookup(codec).name for one in encodings for codec in codecs_of(one)}

    assert len(found) >= len(encodings)


@pytest.mark.parametrize(
    ("label", "encoding"),
    [
        (" UTF8 ", "utf-8"),
        ("GB2312", "gb18030"),
        ("latin1", "windows-1252"),
        ("utf-7", None),
        ("rot13", None),
        ("idna", None),
        ("", None),
    ],
)
def test_labels_mean_what_the_web_means_by_them(label: str, encoding: str | None) -> None:
    assert encoding_of_label(label) == encoding


def test_lists_of_encodings_are_compared_by_meaning() -> None:
    assert is_allowed("iso-8859-1", ("ascii",))
    assert is_allowed("utf-16le", ("utf-16",))
    assert is_allowed("utf-16be", ("utf-16",))
    assert not is_allowed("koi8-r", ("utf-8", "utf-16"))


def test_an_unknown_ebcdic_label_means_the_american_page() -> None:
    assert ebcdic_of_label("ebcdic-xx") == "cp037"


def feed_of(title: bytes) -> bytes:
    head = b'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel>'
    item = b"<item><guid>g1</guid><title>" + title + b"</title></item>"
    return head + item + b"<item><guid>g2</guid></item></channel></rss>"


@pytest.mark.parametrize("code", range(0x80, 0xA0))
def test_a_c1_control_in_utf8_is_read_like_a_reference_to_it(code: int) -> None:
    raw = read(feed_of(f"s{chr(code)}ur".encode()))
    referenced = read(feed_of(b"s&#%d;ur" % code))

    assert title_of(raw) == title_of(referenced)
    assert codes(raw) == ["characters-restored"]


def test_letters_of_windows_1252_behind_a_proxy_are_kept_and_their_slices_point_right() -> None:
    body = feed_of("s\x9cur d\x92or".encode())

    feed = read(body)

    assert title_of(feed) == "sœur d’or"
    place = feed.entries[0].slice
    assert place is not None
    assert body[place.offset :][: place.length].startswith(b"<item><guid>g1")


def test_text_encoded_twice_is_restored_and_its_slices_point_into_the_raw_bytes() -> None:
    body = feed_of("sœur d’or".encode().decode("cp1252").encode())

    feed = read(body)

    assert title_of(feed) == "sœur d’or"
    assert codes(feed) == ["characters-restored"]
    places = [entry.slice for entry in feed.entries]
    assert [body[p.offset :][: p.length] for p in places if p] == [
        body[body.index(b"<item") : body.index(b"<item><guid>g2")],
        b"<item><guid>g2</guid></item>",
    ]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param(b"na\xc3\xafve caf\xe9 d'or", "naïve café d'or", id="a lone letter"),
        pytest.param(b"na\xc3\xafve it\x92s", "naïve it’s", id="a lone quote"),
        pytest.param(b"na\xc3\xafve S\xc3O", "naïve SÃO", id="a capital inside a word"),
        pytest.param(b"na\xc3\xafve caf\xc3...", "naïve caf\ufffd...", id="a character cut in two"),
        pytest.param(b"\xe2\x80\x9cna\xc3\xafve\xe2\x80", "“naïve\ufffd", id="two bytes of three"),
        pytest.param(
            b"na\xc3\xafve \xe6\x97\xa5\xe6", "naïve 日\ufffd", id="a byte after another letter"
        ),
        pytest.param(b"na\xc3\xafve a\x81b", "naïve a\ufffdb", id="a byte without a letter"),
    ],
)
def test_a_stray_byte_in_utf8_is_a_windows_letter_unless_it_is_half_a_character(
    raw: bytes, text: str
) -> None:
    feed = read(feed_of(raw))

    assert title_of(feed) == text
    assert codes(feed)[-1] == ("encoding-replaced" if "\ufffd" in text else "characters-restored")
    assert all(entry.slice for entry in feed.entries)


def test_entries_of_two_encodings_in_one_document_keep_their_letters() -> None:
    raw = b"na\xc3\xafve</title></item><item><title>it\x92s \xe9t\xe9 \xe0 No\xebl"

    feed = read(rss("@", "utf-8").encode().replace(b"@", raw))

    assert "naïve" in str(feed)
    assert "it’s été à Noël" in str(feed)
    assert codes(feed)[-1] == "characters-restored"
