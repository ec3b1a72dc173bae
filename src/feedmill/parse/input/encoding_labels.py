"""Encoding labels a document may use, and the codec each one means.

The WHATWG Encoding standard's labels, because they are what browsers taught publishers: latin-1
means windows-1252, gb2312 means gb18030. Python's own codec names are never consulted: they
would let a document choose UTF-7, unicode_escape or rot13 (D15).
"""
# Tested in tests/unit/parse/input/test_encoding.py

from typing import Final

_SINGLE_BYTE: Final = {
    "windows-1252": (
        "ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1 "
        "iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252"
    ),
    "ibm866": "866 cp866 csibm866 ibm866",
    "iso-8859-2": (
        "csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2"
    ),
    "iso-8859-3": (
        "csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3"
    ),
    "iso-8859-4": (
        "csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4"
    ),
    "iso-8859-5": (
        "csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5 "
        "iso_8859-5:1988"
    ),
    "iso-8859-6": (
        "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 "
        "iso-8859-6-e iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987"
    ),
    "iso-8859-7": (
        "csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597 "
        "iso_8859-7 iso_8859-7:1987 sun_eu_greek"
    ),
    "iso-8859-8": (
        "csiso88598e csiso88598i csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-8859-8-i "
        "iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 logical visual"
    ),
    "iso-8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso-8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso-8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "macintosh": "csmacintosh mac macintosh x-mac-roman",
    "windows-874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "windows-1250": "cp1250 windows-1250 x-cp1250",
    "windows-1251": "cp1251 windows-1251 x-cp1251",
    "windows-1253": "cp1253 windows-1253 x-cp1253",
    "windows-1254": (
        "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 "
        "l5 latin5 windows-1254 x-cp1254"
    ),
    "windows-1255": "cp1255 windows-1255 x-cp1255",
    "windows-1256": "cp1256 windows-1256 x-cp1256",
    "windows-1257": "cp1257 windows-1257 x-cp1257",
    "windows-1258": "cp1258 windows-1258 x-cp1258",
    "x-mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
}

_MULTI_BYTE: Final = {
    "utf-8": ("unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8"),
    "gb18030": (
        "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk gb18030"
    ),
    "big5": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc-jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso-2022-jp": "csiso2022jp iso-2022-jp",
    "shift_jis": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "euc-kr": (
        "cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 "
        "ksc_5601 windows-949"
    ),
    "utf-16be": "unicodefffe utf-16be",
    "utf-16le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
}

_CODECS: Final = {
    "ibm866": "cp866",
    "macintosh": "mac_roman",
    "windows-874": "cp874",
    "x-mac-cyrillic": "mac_cyrillic",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "iso-2022-jp": "iso2022_jp_ext",
}
# The standard's Japanese tables hold the vendors' characters too (a circled one, a Roman four).
_WIDER_CODECS: Final = {"euc-jp": "euc_jisx0213", "iso-2022-jp": "iso2022_jp_3"}
# Mainframes still serve these; they are believed only where the bytes begin like EBCDIC.
_EBCDIC: Final = {
    "cp037": "cp037 ebcdic-cp-ca ebcdic-cp-nl ebcdic-cp-us ebcdic-cp-wt ibm-037 ibm037",
    "cp273": "cp273 ebcdic-cp-de ibm-273 ibm273",
    "cp500": "cp500 ebcdic-cp-be ebcdic-cp-ch ibm-500 ibm500",
    "cp1140": "cp1140 ebcdic-us-37+euro ibm-1140 ibm01140 ibm1140",
}

_LABELS: Final = {
    label: name
    for table in (_SINGLE_BYTE, _MULTI_BYTE)
    for name, labels in table.items()
    for label in labels.split()
}
_EBCDIC_LABELS: Final = {
    label: name for name, labels in _EBCDIC.items() for label in labels.split()
}
# What a detector calls some of them.
_DETECTED: Final = {"uhc": "euc-kr"}

WIDE: Final = frozenset({"utf-16le", "utf-16be", "utf-32le", "utf-32be"})
ONE_BYTE: Final = frozenset({*_SINGLE_BYTE, *_EBCDIC})
ASCII_LABELS: Final = frozenset({"ascii", "us-ascii", "ansi_x3.4-1968"})


def encoding_of_label(label: str) -> str | None:
    """The encoding that a label means, or None for anything the web does not know."""
    return _LABELS.get(label.strip().lower())


def ebcdic_of_label(label: str) -> str:
    """The EBCDIC code page that a label means; the American one for any other."""
    return _EBCDIC_LABELS.get(label.strip().lower(), "cp037")


def encoding_of_detector(name: str) -> str | None:
    """The encoding that the detector means by a name."""
    return _DETECTED.get(name.lower()) or encoding_of_label(name)


def codecs_of(encoding: str) -> tuple[str, ...]:
    """Python's codecs for one of our encoding names, in the order to try them."""
    codec = _CODECS.get(encoding, encoding.replace("windows-", "cp"))
    wider = _WIDER_CODECS.get(encoding)
    return (codec,) if wider is None else (codec, wider)


def is_allowed(label_or_encoding: str, allowed: tuple[str, ...]) -> bool:
    """True when the encoding is on 003's list, comparing by meaning (ascii is windows-1252)."""
    encoding = encoding_of_label(label_or_encoding) or label_or_encoding
    return any(_family(encoding) == _family(encoding_of_label(one) or one) for one in allowed)


def _family(encoding: str) -> str:
    return encoding[:-2] if encoding in WIDE else encoding
