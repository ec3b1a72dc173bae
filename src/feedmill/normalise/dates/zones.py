"""The zones by name: how far a clock that carries a name runs ahead of UTC.

Names are short, shared and never registered, so this is a choice: the offsets of RFC 822 section 5
and RFC 2822 section 4.3 first, then the reading that most feeds mean (IST is India, BST is British
summer, CST is Chicago). Military letters other than Z, names of the IANA database and every other
word are UTC, as RFC 2822 section 4.3 asks for an unknown name.
"""
# Tested in tests/unit/normalise/dates/test_parse.py

from datetime import date, timedelta


def zone_minutes(name: str, day: date) -> int | None:
    """Return the minutes east of UTC of a folded zone name on a day; None for an unknown name."""
    if (standard := _WITH_SEASONS.get(name)) is not None:
        return standard + 60 if _is_american_summer(day) else standard
    return _MINUTES.get(name)


def is_zone_name(word: str) -> bool:
    """Tell whether a folded word is a zone of the table."""
    return word in _WITH_SEASONS or word in _MINUTES


def _is_american_summer(day: date) -> bool:
    """Tell whether clocks in the United States show daylight time on most of the day."""
    # Energy Policy Act of 2005, in force from 2007; before it, the rule of 1987.
    if day.year >= 2007:
        return _sunday_from(date(day.year, 3, 8)) <= day < _sunday_from(date(day.year, 11, 1))
    return _sunday_from(date(day.year, 4, 1)) <= day < _sunday_from(date(day.year, 10, 25))


def _sunday_from(day: date) -> date:
    return day + timedelta(days=6 - day.weekday())


def _read_table(table: str, sign: int) -> dict[str, int]:
    """Read lines of `h:mm name name …`."""
    minutes: dict[str, int] = {}
    for line in table.strip().splitlines():
        clock, *names = line.split()
        hours, _, rest = clock.partition(":")
        minutes.update(dict.fromkeys(names, sign * (int(hours) * 60 + int(rest))))
    return minutes


# A two-letter name means the wall clock of the place: standard or daylight time by the date.
_WITH_SEASONS = {
    "et": -300, "ct": -360, "mt": -420, "pt": -480, "akt": -540,
    "est5edt": -300, "cst6cdt": -360, "mst7mdt": -420, "pst8pdt": -480,
}  # fmt: skip

_EAST = """
0:00 utc gmt ut z uct zulu wet wez egst azost
1:00 cet mez met bst west wesz wat
2:00 cest mesz mest eet oez cat sast hec haec wast kalt
3:00 eest oesz msk trt eat idt syot fet
3:30 irst
4:00 msd gst samt azt get mut ret sct
4:30 irdt aft
5:00 pkt uzt yekt tmt tjt mvt mawt orat aqtt
5:30 ist slst
5:45 npt
6:00 omst bdt almt kgt btt iot vost novst yekst
6:30 mmt
7:00 ict wib krat novt hovt davt omsst cxt
8:00 hkt sgt pht phst myt wita awst irkt ulat bnt chot krast
8:45 acwst cwst
9:00 jst kst wit yakt pwt tlt awdt irkst ulast
9:30 acst
10:00 aest vlat chst pgt chut ddut yakst aet
10:30 acdt lhst
11:00 aedt magt sakt sret sbt nct vut kost pont lhdt vlast nft
12:00 nzst fjt pett anat mht tvt gilt wakt wft nrt magst
12:45 chast
13:00 nzdt tot phot tkt fjst
13:45 chadt
14:00 lint
"""

_WEST = """
1:00 cvt azot egt
2:00 fnt brst uyst pmdt wgst
2:30 ndt
3:00 adt art brt uyt clst gft srt rott pmst amst wgt fkst pyst
3:30 nst
4:00 edt ast hae hna bot clt vet gyt amt fkt pyt
5:00 est cdt hne hac cot pet ect cist act
6:00 cst mdt hnc har galt easst
7:00 mst pdt hnr hap
8:00 pst akdt hnp
9:00 akst hdt hadt gamt
10:00 hst hast taht ckt
11:00 sst nut
12:00 aoe bit idlw
"""

# The words of Windows and of JavaScript's toString(), where they stand outside of a comment.
_PHRASES = {
    "coordinated universal time": 0, "universal time": 0, "greenwich mean time": 0,
    "eastern standard time": -300, "eastern daylight time": -240,
    "central standard time": -360, "central daylight time": -300,
    "mountain standard time": -420, "mountain daylight time": -360,
    "pacific standard time": -480, "pacific daylight time": -420,
    "central european time": 60, "central european standard time": 60,
    "central european summer time": 120, "british summer time": 60,
    "india standard time": 330, "japan standard time": 540, "china standard time": 480,
}  # fmt: skip

_MINUTES = _PHRASES | _read_table(_EAST, 1) | _read_table(_WEST, -1)
