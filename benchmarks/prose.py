"""Sentences in several languages and scripts, for documents that weigh what real ones weigh.

What a character costs depends on its script: Latin text is one byte a character, Cyrillic and
Arabic two, Chinese and Japanese three, and every contender pays for that differently.
"""

from typing import Final

SENTENCES: Final[dict[str, tuple[str, ...]]] = {
    "en": (
        "The river had risen overnight and the lower meadow was a sheet of grey water.",
        "Most of the delay, it turned out, came from a single lock that nobody remembered taking.",
        "She kept a notebook of every loaf she baked that winter, good and bad.",
        "The council will vote on the revised cycle route at its next session on Thursday.",
        "In the second half the visitors pressed higher and the home side ran out of ideas.",
        "Version 4.2 drops support for the old configuration file & warns when it finds one.",
        "A small telescope and a dark sky are enough to see the moons of Jupiter move.",
        "Prices of used instruments have doubled since the factory closed its doors.",
        "We measured it three times, because the first two answers were too good.",
        "The night train leaves at ten, crosses two borders, and arrives in time for coffee.",
        "What looks like a bug in the scheduler is in fact a promise made ten years ago.",
        "Volunteers counted four hundred herons along the estuary, twice as many as last year.",
    ),
    "de": (
        "Der Gemeinderat hat die neue Buslinie nach langer Debatte doch noch beschlossen.",
        "Über Nacht fiel so viel Schnee, dass die Straße zum Pass gesperrt werden musste.",
        "Wer die Daten selbst auswerten möchte, findet sie im Anhang als Tabelle.",
        "Die Ausstellung zeigt Fotografien aus fünf Jahrzehnten und läuft bis Ende März.",
        "Nach dem Umbau soll die Bibliothek auch sonntags für alle geöffnet sein.",
        "Ein größerer Speicher hätte hier wenig geholfen; der Engpass lag im Netz.",
        "Für das Rezept braucht man Äpfel, Nüsse, etwas Zimt und vor allem Geduld.",
    ),
    "fr": (
        "La mairie a présenté hier soir le projet de rénovation du vieux marché couvert.",
        "À l’aube, les pêcheurs étaient déjà rentrés au port avec des filets presque vides.",
        "Le procédé paraît simple, mais chaque étape exige une précision extrême.",
        "Cette année encore, le festival déménage : trop de pluie, pas assez d’herbe.",
        "Les chercheurs ont relevé des traces de pollen vieilles de huit mille ans.",
        "On y va à pied, par un sentier étroit où fleurissent les genêts.",
    ),
    "es": (
        "El ayuntamiento aprobó anoche el plan para recuperar la ribera del río.",
        "Según el informe, la mitad de los edificios necesita una reparación urgente.",
        "La cocinera prefiere el fuego lento y desconfía de los relojes.",
        "Mañana se espera lluvia en el norte y viento fuerte en toda la costa.",
        "El equipo publicó los datos, el código y también los experimentos fallidos.",
        "¿Quién recuerda hoy el nombre del ingeniero que trazó aquel puente?",
    ),
    "ru": (
        "Вечером в библиотеке прошла встреча с переводчиками старых путевых заметок.",
        "Новая ветка метро откроется на год позже, чем обещали в начале строительства.",
        "Исследователи сравнили образцы льда и нашли следы древнего извержения.",
        "На рынке подешевели яблоки, зато заметно выросли цены на мёд.",
        "Программа читает файл целиком, поэтому большие журналы лучше делить на части.",
    ),
    "ja": (
        "昨夜の雨で川の水位が上がり、下流の橋は朝まで通行止めになった。",
        "新しい図書館は駅から歩いて五分の場所にあり、週末も開いている。",
        "この機能は既定では無効なので、設定ファイルで明示的に有効にしてください。",
        "研究チームは三年分の観測データを公開し、再現の手順も添えた。",
        "祖母の味噌汁には、いつも少しだけ生姜が入っていた。",
    ),
    "zh": (
        "市政府昨天公布了旧城区的改造方案，居民可以在月底之前提交意见。",
        "研究人员发现，这种材料在低温下的强度反而更高。",
        "新版本修复了几个内存泄漏的问题，建议所有用户尽快升级。",
        "清晨的集市上，卖豆腐的老人总是第一个摆好摊位。",
        "比赛的最后十分钟，客队连进两球，逆转取胜。",
    ),
    "ar": (
        "أعلنت البلدية عن خطة جديدة لتوسيع الحدائق العامة على ضفاف النهر.",
        "يقول الباحثون إن النتائج الأولية مشجعة لكنها تحتاج إلى مزيد من الاختبار.",
        "افتتح المعرض أبوابه مساء أمس بحضور عدد كبير من الزوار.",
        "تعتمد هذه الطريقة على قياس الزمن بدقة عالية ثم تكرار التجربة.",
    ),
}

TOPICS: Final = (
    "Local news", "Transport", "Cooking", "Open source", "Astronomy", "Photography", "Cycling",
    "Music & sound", "Databases", "Book reviews", "Weather", "Architecture", "Gardening",
    "Release notes", "History", "Football", "Élections", "旅行", "Наука",
)  # fmt: skip

PEOPLE: Final = (
    "Mara Lindqvist", "Tomás Herrera", "Aiko Tanabe", "Jörg Baumann", "Élise Fournier",
    "Samuel O’Dowd", "Irina Sokolova", "Chen Wei", "Layla Haddad", "Peter van Rijn",
)  # fmt: skip
