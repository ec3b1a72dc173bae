"""Headlines and sentences in nine languages.

A headline is a person and what they do, in the present tense, so that every pairing is a
sentence in its language; a hundred pairings come before the first repetition.
"""

from typing import Final, Literal

from feedmill.model.base import Value
from feedmill_demo.seeded_random import seeded_choice, seeded_random

Language = Literal["en", "de", "fr", "es", "ru", "ja", "zh", "zh-green", "ar"]


class Prose(Value):
    """The stock of one language: ten actors, ten deeds, and sentences for the body."""

    code: str
    actors: tuple[str, ...]
    deeds: tuple[str, ...]
    sentences: tuple[str, ...]
    tags: tuple[str, ...]
    space: str = " "


def headline(language: Language, seed: str, number: int) -> str:
    """The title of the number-th article; no two of one seed are the same."""
    stock = PROSE[language]
    step = seeded_choice((1, 3, 7, 9), seed, "step")
    first, second = (int(10 * seeded_random(seed, "headline", part)) for part in "ab")
    # One actor per last digit and one deed per (tens, last digit): a bijection on a hundred.
    actor = stock.actors[(step * number + first) % 10]
    deed = stock.deeds[(number // 10 + 3 * number + second) % 10]
    again = f" ({number // 100 + 1})" if number >= 100 else ""
    return f"{actor}{stock.space}{deed}{again}"


def sentences(language: Language, count: int, seed: str, *what: object) -> str:
    """Plain text of that many sentences."""
    stock = PROSE[language]
    chosen = (seeded_choice(stock.sentences, seed, *what, place) for place in range(count))
    return stock.space.join(chosen)


def tags(language: Language, seed: str, *what: object) -> tuple[str, ...]:
    """One or two tags."""
    stock = PROSE[language]
    return tuple(dict.fromkeys(seeded_choice(stock.tags, seed, *what, place) for place in range(2)))


PEOPLE: Final = (
    "Ada Whitlock", "Tomás Ibarra", "Mei Lan", "Jörg Feldmann", "Noémie Carron", "Oleg Vetrov",
    "Sanae Mori", "Rania Saleh", "Piet Verhoeven", "Grace Okafor",
)  # fmt: skip

PROSE: Final[dict[Language, Prose]] = {
    "en": Prose(
        code="en",
        actors=(
            "The harbour board", "A retired pilot", "The night ferry", "The village school",
            "The bakers’ guild", "A visiting botanist", "The lighthouse keeper", "The allotment club",
            "The town archive", "The brass band",
        ),
        deeds=(
            "opens its doors on Sundays", "finds a forgotten map", "wins the river race at last",
            "asks for quieter engines", "mends the old clock & its bell", "plants four hundred trees",
            "changes the timetable again", "puts its records on line", "celebrates fifty years",
            "counts more herons than ever",
        ),
        sentences=(
            "Nobody had expected the vote to be unanimous, least of all the chair.",
            "The work took three winters and most of the money set aside for the roof.",
            "Visitors are asked to leave their boots at the gate and their dogs at home.",
            "Early figures suggest that the change saves about a tenth of the fuel.",
            "A full account, with drawings, hangs in the library until the end of the month.",
            "Rain is likely; the programme moves to the boat shed if it comes.",
            "The oldest entry in the book is from 1871 and complains about the price of rope.",
            "Children under twelve pay nothing, and neither does anybody who brings a spade.",
            "“We measured it twice,” she said, “because the first answer was too good.”",
            "The next meeting is on Thursday; the minutes are public & short.",
        ),
        tags=("harbour", "transport", "gardens", "music", "weather", "history", "council"),
    ),
    "de": Prose(
        code="de",
        actors=(
            "Der Gemeinderat", "Die Feuerwehr", "Der Imkerverein", "Die Stadtbücherei",
            "Das Heimatmuseum", "Der Fährmann", "Die Grundschule", "Der Wetterdienst",
            "Die Werkstatt am Fluss", "Das Jugendorchester",
        ),
        deeds=(
            "beschließt neue Radwege", "lädt zum Sommerfest ein", "zählt wieder mehr Störche",
            "sucht dringend Freiwillige", "erneuert die alte Brücke", "zeigt Bilder aus fünf Jahrzehnten",
            "öffnet auch sonntags", "warnt vor Glätte auf der Passstraße", "prüft günstigere Öfen",
            "veröffentlicht alle Messwerte",
        ),
        sentences=(
            "Die Entscheidung fiel nach kurzer Aussprache und ohne Gegenstimme.",
            "Für die Arbeiten sind drei Wochen und ein überschaubarer Betrag vorgesehen.",
            "Wer mitmachen möchte, meldet sich bis Freitag im Büro am Marktplatz.",
            "Bei Regen wird die Veranstaltung in die Turnhalle verlegt.",
            "Die ausführlichen Zahlen liegen im Rathaus aus und stehen auch im Netz.",
            "Über die Kosten wird im Herbst noch einmal gesprochen.",
        ),
        tags=("Gemeinde", "Verkehr", "Natur", "Kultur", "Wetter"),
    ),
    "fr": Prose(
        code="fr",
        actors=(
            "La mairie", "Le club de voile", "La boulangère", "Le vieux phare", "La chorale",
            "Le marché couvert", "La bibliothèque", "Le jardin botanique", "La coopérative",
            "Le conservatoire",
        ),
        deeds=(
            "rouvre après les travaux", "fête ses cent ans", "cherche des bénévoles",
            "présente un projet d’été", "change d’horaires dès lundi", "publie ses archives",
            "reçoit un prix inattendu", "reporte la grande fête", "plante une haie de noisetiers",
            "accueille une exposition d’aquarelles",
        ),
        sentences=(
            "Le dossier complet sera présenté au public à la fin du mois.",
            "Les habitués regrettent déjà l’ancien portail, pourtant bien rouillé.",
            "L’entrée est libre, dans la limite des places disponibles.",
            "Selon les premières estimations, l’économie dépasserait dix pour cent.",
            "On y arrive à pied, par le sentier qui longe les étangs.",
            "La météo décidera : en cas d’orage, tout sera décalé d’une semaine.",
        ),
        tags=("ville", "mer", "culture", "nature", "marché"),
    ),
    "es": Prose(
        code="es",
        actors=(
            "El ayuntamiento", "La cofradía de pescadores", "El museo del agua", "La escuela rural",
            "El taller de bicicletas", "La banda municipal", "El observatorio", "La huerta vecinal",
            "El archivo histórico", "La estación de tren",
        ),
        deeds=(
            "estrena nuevo horario", "busca voluntarios para el otoño", "publica sus datos abiertos",
            "recupera una vieja tradición", "celebra su aniversario", "pide menos ruido en el puerto",
            "abre también los domingos", "aplaza la inauguración", "gana un premio europeo",
            "planta doscientos olivos",
        ),
        sentences=(
            "La decisión se tomó por unanimidad tras un debate sorprendentemente breve.",
            "Las obras durarán tres semanas y no cortarán la calle mayor.",
            "Quien quiera participar puede apuntarse hasta el viernes.",
            "Según el informe, el ahorro rondará el diez por ciento.",
            "Si llueve, el acto se trasladará al mercado cubierto.",
            "¿Y el reloj de la torre? De eso se hablará en la próxima reunión.",
        ),
        tags=("pueblo", "puerto", "cultura", "campo", "ciencia"),
    ),
    "ru": Prose(
        code="ru",
        actors=(
            "Городской совет", "Речной порт", "Сельская школа", "Краеведческий музей", "Бюро погоды",
            "Детский хор", "Ботанический сад", "Станция юных техников", "Старая мельница",
            "Районная библиотека",
        ),
        deeds=(
            "открывает новый сезон", "меняет расписание", "публикует архивные снимки",
            "ищет добровольцев", "отмечает столетие", "приглашает на день открытых дверей",
            "получает неожиданную премию", "просит тишины по вечерам", "обновляет старый мост",
            "подводит итоги года",
        ),
        sentences=(
            "Решение приняли единогласно и удивительно быстро.",
            "Работы займут три недели, движение перекрывать не будут.",
            "Записаться можно до пятницы по телефону или лично.",
            "Подробный отчёт с чертежами вывешен в читальном зале.",
            "Если пойдёт дождь, праздник перенесут под крышу.",
            "Цены на билеты остаются прежними, дети проходят бесплатно.",
        ),
        tags=("город", "река", "школа", "история", "погода"),
    ),
    "ja": Prose(
        code="ja",
        actors=(
            "町役場が", "港の食堂が", "天文台が", "小学校の合唱団が", "古い灯台が", "自転車店が",
            "市立図書館が", "温泉組合が", "気象台が", "陶芸教室が",
        ),
        deeds=(
            "日曜日も開館", "新しい時刻表を発表", "古い地図を公開", "百周年を祝う", "桜の苗木を植樹",
            "写真展を開催", "ボランティアを募集", "橋の修理を完了", "夏祭りの日程を変更", "観測記録を公開",
        ),
        sentences=(
            "詳しい資料は月末まで図書館で閲覧できます。",
            "雨の場合は体育館で行われる予定です。",
            "参加を希望する人は金曜日までに申し込んでください。",
            "工事には三週間ほどかかる見込みだという。",
            "子どもは無料で、大人の料金も変わりません。",
            "最初の結果が良すぎたため、測定は二度行われた。",
        ),
        tags=("港", "天気", "歴史", "音楽", "自然"),
        space="",
    ),
    "zh": Prose(
        code="zh",
        actors=(
            "市图书馆", "老码头", "乡村小学", "植物园", "气象站", "合唱团", "自行车作坊", "天文馆",
            "档案馆", "早市的豆腐店",
        ),
        deeds=(
            "周日也开放", "公布新的时刻表", "展出旧地图", "庆祝建立百年", "种下四百棵树",
            "招募志愿者", "修好了老钟楼", "公开全部观测数据", "推迟夏季集市", "意外获奖",
        ),
        sentences=(
            "详细资料在图书馆展出到月底。",
            "如遇下雨，活动改在体育馆举行。",
            "有意参加者请在周五之前报名。",
            "工程预计需要三个星期，道路不会封闭。",
            "初步数据显示，燃料可以节省约一成。",
            "“第一次的结果太好了，所以我们又测了一遍。”她说。",
        ),
        tags=("城市", "天气", "历史", "音乐", "自然"),
        space="",
    ),
    "zh-green": Prose(
        code="zh-CN",
        actors=(
            "生命周期评价（LCA）研究组", "物质流分析（MFA）课题组", "绿色供应链联盟", "绿电交易中心",
            "绿色设计实验室", "减污降碳试点园区", "再生材料协会", "港口能源办公室", "碳足迹核算平台",
            "循环经济研究所",
        ),
        deeds=(
            "发布钢铁行业数据集", "公开水泥产品的核算方法", "启动动力电池回收项目", "更新绿电消费指南",
            "比较三种包装方案", "完成流域减污降碳评估", "征集供应商案例", "修订轻量化设计准则",
            "公布铜的区域物质流图", "举办公开培训",
        ),
        sentences=(
            "报告采用生命周期评价方法，系统边界从原料开采到产品报废。",
            "物质流分析表明，近四成的铜仍停留在建筑存量中。",
            "绿色供应链的首批成员承诺三年内披露范围三排放。",
            "参与绿电交易的企业比去年增加了一倍。",
            "绿色设计准则要求外壳可以用普通工具拆开。",
            "减污降碳协同的关键在于同一套监测数据。",
        ),
        tags=("生命周期评价", "物质流分析", "绿色供应链", "绿电", "绿色设计", "减污降碳"),
        space="",
    ),
    "ar": Prose(
        code="ar",
        actors=(
            "مجلس البلدة", "نادي الملاحة", "متحف المدينة", "مرصد الجبل", "معهد الموسيقى",
            "بيت الحرفيين", "سوق الميناء", "مكتب الأرصاد", "مخبز الحي", "أرشيف الصور",
        ),
        deeds=(
            "يفتح أبوابه يوم الأحد", "يعلن جدولا جديدا", "يبحث عن متطوعين", "يحتفل بمرور مئة عام",
            "ينشر خرائط قديمة", "يزرع أربعمئة شجرة", "يؤجل مهرجان الصيف", "يفوز بجائزة غير متوقعة",
            "يصلح ساعة البرج", "ينشر بيانات القياس",
        ),
        sentences=(
            "اتخذ القرار بالإجماع بعد نقاش قصير.",
            "تستغرق الأعمال ثلاثة أسابيع ولا تغلق الطريق.",
            "يمكن التسجيل حتى يوم الجمعة في مكتب الميناء.",
            "في حال هطول المطر ينتقل الحفل إلى القاعة المغطاة.",
            "الدخول مجاني للأطفال ولمن يحضر معه مجرفة.",
        ),
        tags=("المدينة", "البحر", "الطقس", "التاريخ"),
    ),
}  # fmt: skip
