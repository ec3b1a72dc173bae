"""Sixty labelled questions and the entries that answer them, in English, German, Chinese and Japanese; our own making.

A case is a question, the entry that should come first, other entries that answer it, and entries that look alike and do not. An
entry is written as "title / text". The words of the cases do not occur in the filler, but for the small ones.
"""

from random import Random  # noqa: TID251  # with a fixed seed
from typing import Final, NamedTuple


class Case(NamedTuple):
    """A question with its right answers."""

    kind: str
    question: str
    best: str
    others: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


ENGLISH: Final = (
    Case(
        "word",
        "turbine",
        "A new turbine for the harbour / It turns slowly.",
        ("Sea power / One turbine is enough.",),
    ),
    Case(
        "plural",
        "lighthouses",
        "The lighthouse at the cape / A tower with a lamp.",
        ("Coast / Two lighthouses were painted.",),
    ),
    Case(
        "-ing",
        "sailing regatta",
        "Regatta week / They sailed for days.",
        ("Boats / We sail a regatta.",),
        ("Harbour day / Sailing for children.",),
    ),
    Case(
        "-ed",
        "abandoned mine",
        "The abandoned mine / Nobody works there.",
        ("Valley / They abandon mines early.",),
        ("Gold / A mine with profit.",),
    ),
    Case(
        "-ies",
        "butterfly",
        "Butterflies in spring / Wings of all colours.",
        ("Garden / A butterfly on a rose.",),
    ),
    Case(
        "phrase",
        '"north wind"',
        "The north wind / It is cold.",
        (),
        ("Wind from north / Wind north-west, and the north.",),
    ),
    Case(
        "excluded",
        "mercury -planet",
        "Mercury in fish / A metal.",
        (),
        ("Mercury transit / The planet passes the sun.",),
    ),
    Case(
        "prefix",
        "photovolt*",
        "Photovoltaics on barns / Cheap panels.",
        ("Roofs / A photovoltaic roof.",),
        ("Photo show / Pictures of barns.",),
    ),
    Case(
        "accents",
        "creme brulee",
        "Crème brûlée at home / Sugar and cream.",
        ("Dessert / Creme brulee again.",),
    ),
    Case("case", "NASDAQ", "Nasdaq closes higher / Shares rise.", ("Markets / The NASDAQ index.",)),
    Case(
        "small words",
        "the history of the violin",
        "History of the violin / From Cremona.",
        (),
        ("Violin for sale / As new.",),
    ),
    Case(
        "number",
        "version 3.11",
        "Version 3.11 is out / Faster.",
        (),
        ("Version 3 / It has 11 changes.",),
    ),
    Case(
        "apostrophe",
        "farmer's market",
        "Farmer's market opens / Every Saturday.",
        (),
        ("Farmers / The market falls.",),
    ),
    Case(
        "irregular form",
        "mouse",
        "Mice in the attic / They ate the cheese.",
        ("Trap / A mouse was caught.",),
    ),
    Case(
        "title first",
        "glacier",
        "Glacier retreat / The ice is thinner.",
        ("Alps / A glacier above the valley, and another glacier beside it.",),
    ),
)
GERMAN: Final = (
    Case(
        "word",
        "Leuchtturm",
        "Der Leuchtturm / Ein Licht am Meer.",
        ("Küste / Am Leuchtturm vorbei.",),
    ),
    Case(
        "plural with umlaut",
        "Bücher",
        "Ein Buch für den Winter / Viele Seiten.",
        ("Laden / Bücher und Karten.",),
    ),
    Case(
        "dative plural", "Häusern", "Alte Häuser / Gebaut aus Stein.", ("Dorf / Das Haus am Rand.",)
    ),
    Case(
        "-ungen",
        "Wanderung",
        "Wanderungen im Harz / Drei Wege.",
        ("Tour / Eine Wanderung am Morgen.",),
    ),
    Case(
        "umlaut written out",
        "Loeffel",
        "Löffel aus Holz / Geschnitzt.",
        ("Küche / Ein Loeffel Zucker.",),
    ),
    Case(
        "umlaut",
        "Brücke",
        "Die Bruecke am Fluss / Neu gebaut.",
        ("Stadt / Eine Brücke aus Stahl.",),
    ),
    Case(
        "sharp s",
        "Schloss",
        "Das Schloß im Wald / Ein Turm.",
        ("Reise / Schlösser und Seen, ein Schloss.",),
    ),
    Case(
        "compound",
        "Kaffeemaschine",
        "Kaffeemaschinen im Test / Zehn Geräte.",
        ("Büro / Die Kaffeemaschine tropft.",),
    ),
    Case(
        "first part of a compound",
        "Fahrrad*",
        "Fahrradhelm im Test / Sicher.",
        ("Weg / Mit dem Fahrrad.",),
    ),
    Case(
        "last part of a compound",
        "Helm",
        "Der Helm / Ein Schutz.",
        ("Ski / Ein Skihelm für Kinder.",),
    ),
    Case(
        "phrase",
        '"Rotes Kreuz"',
        "Rotes Kreuz hilft / Nach dem Sturm.",
        (),
        ("Kreuz / Ein Kreuz, rotes Holz.",),
    ),
    Case(
        "excluded",
        "Bank -Geld",
        "Die Bank im Park / Man sitzt gut.",
        (),
        ("Bank / Das Geld ist sicher.",),
    ),
    Case(
        "small words",
        "die Kunst der Fuge",
        "Kunst der Fuge / Ein Werk von Bach.",
        (),
        ("Kunst / Bilder im Haus.",),
    ),
    Case("verb", "wandert", "Wer wandert, sieht mehr / Ein Rat.", ("Rat / Wir wandern gern.",)),
    Case(
        "hyphen",
        "Nord-Ostsee-Kanal",
        "Nord-Ostsee-Kanal gesperrt / Ein Schiff.",
        ("Hafen / Der Nord-Ostsee-Kanal ist frei.",),
    ),
)
CHINESE: Final = (
    Case("word", "潮汐", "潮汐发电站 / 海水带来电力。", ("海边 / 潮汐的规律。",)),
    Case(
        "long word",
        "人工智能",
        "人工智能的未来 / 机器学习。",
        ("大学 / 研究人工智能。",),
        ("人工湖 / 智能手机。",),
    ),
    Case("traditional", "環境保護", "环境保护法 / 新规定。", ("台灣 / 環境保護署。",)),
    Case("simplified", "电动汽车", "電動汽車銷量 / 增長。", ("市场 / 电动汽车降价。",)),
    Case("one character", "鲸", "鲸鱼回来了 / 在海里。", ("海洋 / 看见一头鲸。",)),
    Case(
        "two words",
        "火星 探测器",
        "火星探测器着陆 / 成功。",
        ("航天 / 新的探测器飞向火星。",),
        ("火星 / 红色行星。",),
    ),
    Case("phrase", '"长江大桥"', "武汉长江大桥 / 通车。", (), ("长江 / 江上有大桥。",)),
    Case("excluded", "苹果 -手机", "苹果丰收 / 农民高兴。", (), ("苹果 / 新手机。",)),
    Case("Latin letters", "ＧＰＳ导航", "GPS导航系统 / 定位。", ("船 / 用 GPS 和导航。",)),
    Case("number", "2008年奥运", "2008年奥运会 / 北京。", (), ("奥运 / 2012年。",)),
    Case(
        "between punctuation",
        "丝绸之路",
        "“丝绸之路”展览 / 博物馆。",
        ("历史 / 古代的丝绸之路，商队。",),
    ),
    Case("inside markup", "青藏高原", "青藏高原的湖 / 高处。", ("湖泊 / 青藏<b>高原</b>上。",)),
    Case("pair across words", "中医", "中医药 / 草药。", (), ("医院 / 病房中央。",)),
    Case("other word order", "火山爆发", "火山爆发了 / 烟。", ("岛 / 昨夜爆发的火山。",)),
    Case("synonym", "电脑", "电脑博物馆 / 老机器。", ("科技 / 计算机的历史。",)),
)
JAPANESE: Final = (
    Case("word", "灯台", "岬の灯台 / 光が見える。", ("海 / 古い灯台です。",)),
    Case("katakana and hiragana", "リンゴ", "りんごの収穫 / 秋です。", ("市場 / リンゴが安い。",)),
    Case("kanji and kana", "林檎", "林檎の木 / 庭にある。", ("果物 / りんごジャム。",)),
    Case("half width", "カメラ", "ｶﾒﾗの歴史 / 写真。", ("店 / 新しいカメラ。",)),
    Case("full width", "ＮＨＫ", "NHKのニュース / 夜。", ("放送 / ＮＨＫの番組。",)),
    Case("particle", "京都の紅葉", "京都の紅葉 / 見頃です。", ("旅行 / 紅葉は京都で。",)),
    Case("verb form", "走る", "走った犬 / 速い。", ("公園 / 子供が走る。",)),
    Case(
        "verb with two characters",
        "発表する",
        "新製品を発表した / 会社。",
        ("会見 / 発表があった。",),
    ),
    Case("adjective form", "美しい", "美しかった湖 / 朝。", ("山 / 美しい景色。",)),
    Case(
        "long sound",
        "コンピューター",
        "コンピューターの歴史 / 機械。",
        ("学校 / コンピュータを使う。",),
    ),
    Case("phrase", '"新幹線の駅"', "新幹線の駅ができる / 来年。", (), ("駅 / 新幹線で駅へ。",)),
    Case("excluded", "富士山 -登山", "富士山の雪 / 白い。", (), ("富士山 / 登山の季節。",)),
    Case("one character", "鯨", "鯨を見る船 / 沖へ。", ("海の生き物 / 大きな鯨。",)),
    Case(
        "two words",
        "地震 津波",
        "地震と津波に備える / 訓練。",
        ("防災 / 津波は地震の後。",),
        ("地震 / 小さい揺れ。",),
    ),
    Case("pair across words", "京都", "京都の寺 / 静かだ。", (), ("東京都 / 新しい条例。",)),
)
CASES: Final = {"en": ENGLISH, "de": GERMAN, "zh": CHINESE, "ja": JAPANESE}

_FILLER: Final = {
    "en": "morning report people city council school water road price music summer winter project team letter office window "
    "garden bread river story local weekly small large open early late walk talk read write plan meet build move line page",
    "de": "Morgen Bericht Leute Rathaus Schule Wasser Straße Preis Musik Sommer Winter Projekt Brief Amt Fenster Garten Brot Fluss "
    "Woche klein groß offen früh spät lesen schreiben planen treffen bauen Linie Seite Abend Tisch Zug Verein Kind Lehrer Markt",
    "zh": "早上 报告 居民 城市 学校 道路 价格 音乐 夏天 冬天 项目 团队 信件 办公室 窗户 花园 面包 河流 故事 本地 每周 开放 阅读 写作 计划 会议 建设",
    "ja": "朝 報告 住民 都市 学校 道路 価格 音楽 夏 冬 計画 手紙 窓 花壇 パン 川 物語 地元 毎週 開放 読書 会議 建設 料理 天候 祭り",
}


class Text(NamedTuple):
    """An entry of the library."""

    name: str
    language: str
    title: str
    html: str


def library(entries: int = 5_000) -> list[Text]:
    """The entries of all cases among filler, always the same, in the same order."""
    chance = Random(18)  # deterministic filler
    found = [
        Text(f"{language}-{number}-{place}", language, *_written(text, chance, language))
        for language, cases in CASES.items()
        for number, case in enumerate(cases)
        for place, text in enumerate((case.best, *case.others, *case.wrong))
    ]
    for number in range(entries - len(found)):
        language = ("en", "de", "zh", "ja")[number % 4]
        title = _sentence(chance, language, 4)
        found.append(Text(f"filler-{number}", language, title, _body("", chance, language)))
    chance.shuffle(found)
    return found


def relevant(language: str, number: int) -> list[str]:
    """The names of the entries that answer a question, the best first."""
    case = CASES[language][number]
    return [f"{language}-{number}-{place}" for place in range(1 + len(case.others))]


def _written(text: str, chance: Random, language: str) -> tuple[str, str]:
    title, _, body = text.partition(" / ")
    return title, _body(body, chance, language)


def _body(text: str, chance: Random, language: str) -> str:
    around = [_sentence(chance, language, 12) for _ in range(chance.randint(4, 16))]
    around.insert(chance.randint(0, len(around)), text)
    return "".join(f"<p>{one}</p>" for one in around if one)


def _sentence(chance: Random, language: str, words: int) -> str:
    chosen = chance.choices(_FILLER[language].split(), k=words)
    return "".join(chosen) + "。" if language in ("zh", "ja") else " ".join(chosen) + "."
