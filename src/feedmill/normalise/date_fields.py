"""The parts of a date: its day, its clock and its zone.

The day in a date: which of its numbers is the year, the month and the day.

A month by name settles the order. Without one, a year of four digits in front settles it, and
otherwise the numbers must leave one reading: 10/14/2025 is a day, 03/04/2025 is not. Dots are
written day first wherever dots are written.

The months are a table by language and the folding that makes one key of `Févr.`, `FÉVR` and `fevr`. Each line gives
the forms of one language, January first, months divided by a bar: short forms, full names and, where dates use it, the
genitive. Forms that mean different months in different languages are left to the larger language (Croatian *listopad* is
October, Polish and Czech *listopad* November), and so is one that is a zone (Welsh *awst*).

The clock in a date: where it stands in the text, and how long after midnight it is.

09:30   9:30:05   09:30:05,5   09:30:05:123   09.30   9h30   9 pm   12:05 AM   24:00   23:59:60

The zones by name: how far a clock that carries a name runs ahead of UTC.

Names are short, shared and never registered, so this is a choice: the offsets of RFC 822 section 5
and RFC 2822 section 4.3 first, then the reading that most feeds mean (IST is India, BST is British
summer, CST is Chicago). Military letters other than Z, names of the IANA database and every other
word are UTC, as RFC 2822 section 4.3 asks for an unknown name.
"""
# Tested in tests/unit/normalise/test_dates.py

import re
import unicodedata
from datetime import date, time, timedelta


def fold_accents(text: str) -> str:
    """Return the text in lower case, without accents and vowel signs; digits of other scripts stay themselves.

    The canonical decomposition is used, never the compatible one: that would make ASCII digits
    of full-width ones, and a date must not be read by accident.
    """
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFD", text.casefold())
    bare = "".join(part for part in parts if unicodedata.category(part) not in ("Mn", "Mc"))
    return unicodedata.normalize("NFC", bare).translate(_LETTERS_WITHOUT_DECOMPOSITION)


def month_number(word: str) -> int | None:
    """Return 1 to 12 for the folded name of a month, None for any other word."""
    return _MONTHS.get(word)


_LETTERS_WITHOUT_DECOMPOSITION = str.maketrans({"ł": "l", "ø": "o", "ı": "i", "đ": "d"})

NAMES_BY_LANGUAGE = {
    "English": "jan january | feb february | mar march | apr april | may | jun june | jul july | aug august | sep sept september | oct october | nov november | dec december",
    "German": "jan jän januar jänner | feb febr feber februar | mär märz mrz maerz | apr april | mai | jun juni | jul juli | aug august | sep sept september | okt oktober | nov november | dez dezember",
    "French": "jan janv janvier | fév févr février | mars | avr avril | mai | juin | juil juill juillet | aoû août | sep sept septembre | oct octobre | nov novembre | déc décembre",
    "Italian": "gen genn gennaio | feb febb febbraio | mar marzo | apr aprile | mag maggio | giu giugno | lug luglio | ago agosto | set sett settembre | ott ottobre | nov novembre | dic dicembre",
    "Spanish": "ene enero | feb febrero | mar marzo | abr abril | may mayo | jun junio | jul julio | ago agosto | sep sept set septiembre setiembre | oct octubre | nov noviembre | dic diciembre",
    "Portuguese": "jan janeiro | fev fevereiro | mar março | abr abril | mai maio | jun junho | jul julho | ago agosto | set setembro | out outubro | nov novembro | dez dezembro",
    "Catalan": "gen gener | febr febrer | març | abr abril | maig | juny | jul juliol | ag agost | set setembre | oct octubre | nov novembre | des desembre",
    "Galician": "xan xaneiro | feb febreiro | mar marzo | abr abril | mai maio | xuñ xuño | xul xullo | ago agosto | set setembro | out outubro | nov novembro | dec decembro",
    "Dutch": "jan januari | feb februari | mrt maart | apr april | mei | jun juni | jul juli | aug augustus | sep sept september | okt oktober | nov november | dec december",
    "Swedish": "jan januari | feb februari | mar mars | apr april | maj | jun juni | jul juli | aug augusti | sep sept september | okt oktober | nov november | dec december",
    "Danish": "jan januar | feb februar | mar marts | apr april | maj | jun juni | jul juli | aug august | sep sept september | okt oktober | nov november | dec december",
    "Norwegian": "jan januar | feb februar | mar mars | apr april | mai | jun juni | jul juli | aug august | sep sept september | okt oktober | nov november | des desember",
    "Icelandic": "jan janúar | feb febrúar | mar mars | apr apríl | maí | jún júní | júl júlí | ágú ágúst | sep sept september | okt október | nóv nóvember | des desember",
    "Finnish": "tammi tammikuu tammikuuta | helmi helmikuu helmikuuta | maalis maaliskuu maaliskuuta | huhti huhtikuu huhtikuuta | touko toukokuu toukokuuta | kesä kesäkuu kesäkuuta | heinä heinäkuu heinäkuuta | elo elokuu elokuuta | syys syyskuu syyskuuta | loka lokakuu lokakuuta | marras marraskuu marraskuuta | joulu joulukuu joulukuuta",
    "Estonian": "jaan jaanuar | veebr veebruar | märts | apr aprill | mai | juuni | juuli | aug august | sept september | okt oktoober | nov november | dets detsember",
    "Latvian": "janv janvāris janvārī | febr februāris februārī | marts martā | apr aprīlis aprīlī | maijs maijā | jūn jūnijs jūnijā | jūl jūlijs jūlijā | aug augusts augustā | sept septembris septembrī | okt oktobris oktobrī | nov novembris novembrī | dec decembris decembrī",
    "Lithuanian": "saus sausis sausio | vas vasaris vasario | kov kovas kovo | bal balandis balandžio | geg gegužė gegužės | birž birželis birželio | liep liepa liepos | rugp rugpjūtis rugpjūčio | rugs rugsėjis rugsėjo | spal spalis spalio | lapkr lapkritis lapkričio | gruod gruodis gruodžio",
    "Polish": "sty styczeń stycznia | lut luty lutego | mar marzec marca | kwi kwiecień kwietnia | maj maja | cze czerwiec czerwca | lip lipiec lipca | sie sierpień sierpnia | wrz wrzesień września | paź październik października | lis listopad listopada | gru grudzień grudnia",
    "Czech": "led leden ledna | úno únor února | bře březen března | dub duben dubna | kvě květen května | čvn čer červen června | čvc červenec července | srp srpen srpna | zář září | říj říjen října | lis listopad listopadu | pro prosinec prosince",
    "Slovak": "jan január januára | feb február februára | mar marec marca | apr apríl apríla | máj mája | jún júna | júl júla | aug august augusta | sep september septembra | okt október októbra | nov november novembra | dec december decembra",
    "Slovenian": "jan januar januarja | feb februar februarja | mar marec marca | apr april aprila | maj maja | jun junij junija | jul julij julija | avg avgust avgusta | sep september septembra | okt oktober oktobra | nov november novembra | dec december decembra",
    "Croatian": "siječanj siječnja | veljača veljače | ožujak ožujka | travanj travnja | svibanj svibnja | lipanj lipnja | srpanj srpnja | kolovoz kolovoza | rujan rujna | | studeni studenog studenoga | prosinac prosinca",
    "Serbian": "jan januar | feb februar | mar mart | apr april | maj | jun juni | jul juli | avg avgust | sep sept septembar | okt oktobar | nov novembar | dec decembar",
    "Serbian (Cyrillic)": "јан јануар | феб фебруар | мар март | апр април | мај | јун јуни | јул јули | авг август | сеп септембар | окт октобар | нов новембар | дец децембар",
    "Hungarian": "jan január | feb febr február | már márc március | ápr április | máj május | jún június | júl július | aug augusztus | szep szept szeptember | okt október | nov november | dec december",
    "Romanian": "ian ianuarie | feb febr februarie | mar martie | apr aprilie | mai | iun iunie | iul iulie | aug august | sep sept septembrie | oct octombrie | nov noi noiembrie | dec decembrie",
    "Albanian": "jan janar | shk shkurt | mars | pri prill | maj | qer qershor | korr korrik | gusht | sht shtator | tet tetor | nën nëntor | dhj dhjetor",
    "Turkish": "oca ocak | şub şubat | mar mart | nis nisan | may mayıs | haz haziran | tem temmuz | ağu ağustos | eyl eylül | eki ekim | kas kasım | ara aralık",
    "Indonesian": "jan januari | feb februari | mar maret mac | apr april | mei | jun juni | jul juli julai | agu agt agustus ogos | sep september | okt oktober | nov november | des desember disember",
    "Russian": "янв январь января | фев февр февраль февраля | мар март марта | апр апрель апреля | май мая | июн июнь июня | июл июль июля | авг август августа | сен сент сентябрь сентября | окт октябрь октября | ноя нояб ноябрь ноября | дек декабрь декабря",
    "Ukrainian": "січ січень січня | лют лютий лютого | бер березень березня | кві квіт квітень квітня | тра трав травень травня | чер черв червень червня | лип липень липня | сер серп серпень серпня | вер вересень вересня | жов жовт жовтень жовтня | лис листоп листопад листопада | гру груд грудень грудня",
    "Bulgarian": "яну януари | фев февруари | мар март | апр април | май | юни | юли | авг август | сеп септември | окт октомври | ное ноември | дек декември",
    "Greek": "ιαν ιανουάριος ιανουαρίου | φεβ φεβρουάριος φεβρουαρίου | μαρ μάρτιος μαρτίου | απρ απρίλιος απριλίου | μαϊ μάιος μαΐου | ιουν ιούν ιούνιος ιουνίου | ιουλ ιούλ ιούλιος ιουλίου | αυγ αύγ αύγουστος αυγούστου | σεπ σεπτ σεπτέμβριος σεπτεμβρίου | οκτ οκτώβριος οκτωβρίου | νοε νοέ νοέμβριος νοεμβρίου | δεκ δεκέμβριος δεκεμβρίου",
    "Arabic": "يناير | فبراير | مارس | أبريل إبريل | مايو | يونيو يونيه | يوليو يوليه | أغسطس | سبتمبر | أكتوبر | نوفمبر | ديسمبر",
    "Arabic (Levant)": "| شباط | آذار | نيسان | أيار | حزيران | تموز | آب | أيلول | | |",
    "Hebrew": "ינואר בינואר | פברואר בפברואר | מרץ במרץ | אפריל באפריל | מאי במאי | יוני ביוני | יולי ביולי | אוגוסט באוגוסט | ספטמבר בספטמבר | אוקטובר באוקטובר | נובמבר בנובמבר | דצמבר בדצמבר",
    "Basque": "urtarrila urtarrilaren | otsaila otsailaren | martxoa martxoaren | apirila apirilaren | maiatza maiatzaren | ekaina ekainaren | uztaila uztailaren | abuztua abuztuaren | iraila irailaren | urria urriaren | azaroa azaroaren | abendua abenduaren",
    "Welsh": "ionawr | chwefror | mawrth | ebrill | mai | mehefin | gorffennaf | | medi | hydref | tachwedd | rhagfyr",
    "Irish": "eanáir | feabhra | márta | aibreán | bealtaine | meitheamh | iúil | lúnasa | meán | deireadh | samhain | nollaig",
    "Afrikaans": "januarie | februarie | maart | april | mei | junie | julie | augustus | september | oktober | november | desember",
    "Swahili": "januari | februari | machi | aprili | mei | juni | julai | agosti | septemba | oktoba | novemba | desemba",
    "Filipino": "enero | pebrero | marso | abril | mayo | hunyo | hulyo | agosto | setyembre | oktubre | nobyembre | disyembre",
    "Azerbaijani": "yanvar | fevral | mart | aprel | may | iyun | iyul | avqust | sentyabr | oktyabr | noyabr | dekabr",
    "Uzbek": "yanvar | fevral | mart | aprel | may | iyun | iyul | avgust | sentabr | oktabr | noyabr | dekabr",
    "Macedonian": "јануари | февруари | март | април | мај | јуни | јули | август | септември | октомври | ноември | декември",
    "Belarusian": "студзень студзеня | люты лютага | сакавік сакавіка | красавік красавіка | май мая травень траўня | чэрвень чэрвеня | ліпень ліпеня | жнівень жніўня | верасень верасня | кастрычнік кастрычніка | лістапад лістапада | снежань снежня",
    "Kazakh": "қаңтар | ақпан | наурыз | сәуір | мамыр | маусым | шілде | тамыз | қыркүйек | қазан | қараша | желтоқсан",
    "Georgian": "იანვარი | თებერვალი | მარტი | აპრილი | მაისი | ივნისი | ივლისი | აგვისტო | სექტემბერი | ოქტომბერი | ნოემბერი | დეკემბერი",
    "Armenian": "հունվար հունվարի | փետրվար փետրվարի | մարտ մարտի | ապրիլ ապրիլի | մայիս մայիսի | հունիս հունիսի | հուլիս հուլիսի | օգոստոս օգոստոսի | սեպտեմբեր սեպտեմբերի | հոկտեմբեր հոկտեմբերի | նոյեմբեր նոյեմբերի | դեկտեմբեր դեկտեմբերի",
    "Persian": "ژانویه | فوریه | مارس | آوریل | مه می | ژوئن | ژوئیه جولای | اوت آگوست | سپتامبر | اکتبر | نوامبر | دسامبر",
    "Urdu": "جنوری | فروری | مارچ | اپریل | مئی | جون | جولائی | اگست | ستمبر | اکتوبر | نومبر | دسمبر",
    "Hindi": "जनवरी | फरवरी फ़रवरी | मार्च | अप्रैल | मई | जून | जुलाई | अगस्त | सितंबर सितम्बर | अक्टूबर अक्तूबर | नवंबर नवम्बर | दिसंबर दिसम्बर",
    "Bengali": "জানুয়ারি জানুয়ারী | ফেব্রুয়ারি ফেব্রুয়ারী | মার্চ | এপ্রিল | মে | জুন | জুলাই | আগস্ট | সেপ্টেম্বর | অক্টোবর | নভেম্বর | ডিসেম্বর",
    "Tamil": "ஜனவரி | பிப்ரவரி | மார்ச் | ஏப்ரல் | மே | ஜூன் | ஜூலை | ஆகஸ்ட் | செப்டம்பர் | அக்டோபர் | நவம்பர் | டிசம்பர்",
    "Thai": "มกราคม | กุมภาพันธ์ | มีนาคม | เมษายน | พฤษภาคม | มิถุนายน | กรกฎาคม | สิงหาคม | กันยายน | ตุลาคม | พฤศจิกายน | ธันวาคม",
    "Chinese": "一月 | 二月 | 三月 | 四月 | 五月 | 六月 | 七月 | 八月 | 九月 | 十月 | 十一月 | 十二月",
}

_MONTHS = {
    fold_accents(word): number
    for names in NAMES_BY_LANGUAGE.values()
    for number, words in enumerate(names.split("|"), start=1)
    for word in words.split()
}


def read_day(text: str, *, whole: bool) -> date | None:
    """Return the day of a folded text; None if it names none or leaves two readings.

    Unless a `whole` day is asked for, a year or a month stands for its first day (W3CDTF). A day
    that the calendar lacks is a ValueError.
    """
    if _SIGNED_NUMBER.search(text) or _STRANGE.search(text):
        return None  # the year -0001 is what PHP makes of a zero date
    numbers, words = _NUMBERS.findall(text), _WORDS.findall(text)
    months = [month for word in words if (month := month_number(word))]
    if len(words) > _MAX_WORDS:
        return None
    if months:
        # "mar, 14 ott": of two months, the first is a Tuesday in four languages.
        return _named_day(numbers, months[1] if len(months) > 1 else months[0], whole=whole)
    if len(numbers) == 3:
        return _numeric_day(*numbers, dotted="." in text)
    return None if whole or words else _first_day(numbers)


def _named_day(numbers: list[str], month: int, *, whole: bool) -> date | None:
    if len(numbers) == 2:
        day, year = numbers if len(numbers[0]) <= 2 else reversed(numbers)
        return date(_full_year(year), month, _field(day))
    if len(numbers) == 1 and len(numbers[0]) == 4 and not whole:
        return date(int(numbers[0]), month, 1)
    return None


def _numeric_day(first: str, second: str, third: str, *, dotted: bool) -> date | None:
    if len(first) == 4:
        return date(int(first), _field(second), _field(third))
    if len(third) not in {2, 4}:
        return None
    orders = [(third, second, first), (third, first, second)]
    if len(third) == 2:
        orders.append((first, second, third))
    days = [day for order in orders if (day := _day_or_none(*order))]
    return days[0] if days and (dotted or len(set(days)) == 1) else None


def _first_day(numbers: list[str]) -> date | None:
    match [len(number) for number in numbers]:
        case [4]:
            return date(int(numbers[0]), 1, 1)
        case [4, 1 | 2]:
            return date(int(numbers[0]), int(numbers[1]), 1)
    return None


def _day_or_none(year: str, month: str, day: str) -> date | None:
    try:
        return date(_full_year(year), _field(month), _field(day))
    except ValueError:
        return None


def _full_year(digits: str) -> int:
    """Return the year that two, three or four digits mean (RFC 2822 section 4.3)."""
    match len(digits):
        case 2:
            return int(digits) + (2000 if int(digits) < 50 else 1900)
        case 3:
            return int(digits) + 1900
        case 4:
            return int(digits)
    raise ValueError(digits)


def _field(digits: str) -> int:
    """Return a day or a month; one digit or two, never more."""
    if len(digits) > 2:
        raise ValueError(digits)
    return int(digits)


_MAX_WORDS = 8  # "posted on Tuesday the 14th of October at"; more is prose

_NUMBERS = re.compile("[0-9]+")
_WORDS = re.compile(r"[^\W\d_]+")
_SIGNED_NUMBER = re.compile(r"(?:^|[\s-])[-+][0-9]")
_STRANGE = re.compile(r"[^\w\s.,/:°-]|//")


def find_time(plain: str) -> re.Match[str] | None:
    """Return where the clock stands in a tidied text, None if there is only a day."""
    found = _CLOCK.search(plain)
    if found is not None:
        # Behind a minus, hours and minutes are the offset of a bare date (XML Schema).
        is_offset = plain[: found.start()].endswith("-") and found["second"] is None
        return None if is_offset else found
    dotted = _DOTTED_CLOCK.search(plain)
    if dotted is not None and _FULL_YEAR.search(plain, 0, dotted.start()):
        return dotted
    return _LETTERED_CLOCK.search(plain)


def read_am_pm(before: str, after: str) -> tuple[str, str]:
    """Return am, pm or nothing, and the text after the clock without it."""
    if found := _HALF.match(after):
        return found[1], after[found.end() :]
    if found := _HALF_BEFORE.search(before):
        return ("am" if found[0] in _MORNINGS else "pm"), after
    return "", after


def since_midnight(clock: re.Match[str], half: str) -> timedelta:
    """Return how long after midnight the clock is; a ValueError if no clock shows that."""
    hour, minute, second, fraction = (clock[name] or "0" for name in _FIELDS)
    hours, minutes, seconds = _hour_of_day(int(hour), half), int(minute), int(second)
    microseconds = fraction_to_micros(fraction)
    if seconds == 60:  # a leap second, for which datetime has no name (RFC 3339 section 5.7)
        seconds, microseconds = 59, 0
    # ISO 8601 calls the end of a day 24:00.
    if (hours, minutes, seconds, microseconds) != (24, 0, 0, 0):
        time(hours, minutes, seconds)  # raises what this function promises
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=microseconds)


def fraction_to_micros(fraction: str) -> int:
    """Return the microseconds of the digits behind a decimal sign; finer ones are cut off."""
    return int(fraction[:6].ljust(6, "0"))


def _hour_of_day(hour: int, half: str) -> int:
    if half == "am" and hour > 12:
        raise ValueError(hour)
    if hour == 12 and half == "am":
        return 0
    return hour + 12 if half == "pm" and hour < 12 else hour  # 13:30 PM is seen, and is 13:30


_FIELDS = ("hour", "minute", "second", "fraction")

_CLOCK = re.compile(
    r"(?<![0-9:+])(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{1,2})"
    r"(?::(?P<second>[0-9]{1,2})(?:[.,:](?P<fraction>[0-9]+))?)?(?![0-9:])"
)

# Dots divide dates too: this one counts only behind a year.
_DOTTED_CLOCK = re.compile(
    r"(?<= )(?P<hour>[0-9]{1,2})\.(?P<minute>[0-9]{2})(?:\.(?P<second>[0-9]{2}))?"
    r"(?P<fraction>)(?![.0-9])"
)

_LETTERED_CLOCK = re.compile(
    r"(?<![0-9:.])(?P<hour>[0-9]{1,2})(?: ?h ?(?P<minute>[0-9]{2})?(?P<second>)(?P<fraction>)"
    r"(?![a-z0-9])| ?(?=[ap]m(?![a-z])))"
)

_FULL_YEAR = re.compile("[0-9]{4}")

_HALF = re.compile(r" ?([ap]m)(?![a-z])")
_HALF_BEFORE = re.compile("오전|오후|上午|下午|午前|午後")
_MORNINGS = frozenset({"오전", "上午", "午前"})


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
