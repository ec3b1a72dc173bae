"""The language of short texts, told only where it is clear."""

import pytest

from feedmill.screen.language import language_of, main_script


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The council has decided on the budget for the next year"),
        ("de", "Der Stadtrat hat über den Haushalt für das nächste Jahr entschieden"),
        ("fr", "Le conseil municipal a voté le budget de la ville pour l\u2019année prochaine"),
        ("es", "El ayuntamiento aprobó las cuentas de la ciudad para el próximo año"),
        ("it", "Il consiglio comunale ha approvato il bilancio della città"),
        ("pt", "A câmara aprovou o orçamento da cidade para o próximo ano e não mudou"),
        ("nl", "De gemeenteraad heeft de begroting voor het volgende jaar vastgesteld"),
        ("sv", "Kommunen har beslutat om budgeten för nästa år och det är inte klart"),
        ("pl", "Rada miasta przyjęła budżet na przyszły rok, ale nie jest to koniec"),
        ("cs", "Rada města schválila rozpočet na příští rok a není to konec"),
        ("hu", "A tanács elfogadta a jövő évi költségvetést, de ez még nem minden"),
        ("ro", "Consiliul a aprobat bugetul orașului pentru anul viitor și nu se oprește"),
        ("tr", "Belediye meclisi gelecek yıl için bütçeyi kabul etti ve bu daha çok"),
        ("ru", "Городской совет принял бюджет на следующий год, но это не всё"),
        ("uk", "Міська рада ухвалила бюджет на наступний рік, але це ще не все"),
        ("ar", "وافق المجلس على ميزانية المدينة في العام المقبل من دون أن يذكر هذا"),
        ("id", "Dewan kota telah menyetujui anggaran untuk tahun depan yang lebih besar"),
        ("vi", "Hội đồng thành phố đã thông qua ngân sách cho năm tới và những dự án"),
        ("el", "Το δημοτικό συμβούλιο ενέκρινε τον προϋπολογισμό για το επόμενο έτος"),
        ("he", "מועצת העיר אישרה תקציב"),
        ("hi", "नगर परिषद बजट"),
        ("zh", "市议会通过了明年的预算"),
        ("ja", "市議会が来年度の予算を可決した"),
        ("ko", "시의회가 내년 예산을 통과시켰다"),
        ("th", "สภาเมืองผ่านงบประมาณ"),
        ("und", "თბილისში ახალი სახანძრო სადგური"),  # a script that is not in the list
        ("und", "நகர சபை வரவு செலவுத் திட்டம்"),
        ("", "Budget 2027"),
        ("", "🎉🎉🎉"),
        ("", "Бюджет 2027"),
        ("", ""),
        ("", "de man"),
        ("en", "The letter і of the Ukrainian alphabet and what it is for"),
    ],
)
def test_the_language_is_told_by_letters_and_function_words(language: str, text: str) -> None:
    assert language_of(text) == language


def test_a_script_needs_a_good_part_of_the_letters() -> None:
    assert main_script("A long English title with one 字 in it") == ""
