"""The language of short texts, told only where it is clear.

What a candidate is judged by is what a reader would see of it.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedmill.model.candidate import WindowCandidate
from feedmill.model.screening import ScreenText
from feedmill.screen.language import (
    clean_line,
    has_words,
    joined_text,
    language_of,
    main_script,
    screen_text_of,
    script_of,
)


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


def candidate(**more: object) -> WindowCandidate:
    plain: dict[str, object] = {
        "candidate_id": 7,
        "title": None,
        "published_at": None,
        "feed_title": None,
        "url": None,
        "summary": None,
        "categories": (),
        "dedupe_key": "k",
        "source": 0,
    }
    return WindowCandidate(**(plain | more))  # type: ignore[arg-type]  # a shorthand


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("<b>Green</b> <i>power</i>", "Green power"),
        ("a &amp;lt;script&amp;gt;x&amp;lt;/script&amp;gt; b", "a b"),  # escaped twice
        ("a<!-- mark me --> b<script>steal()</script>", "a b"),
        ("a<style>never closed", "a"),
        ("ｆｕｌｌ　width", "full width"),  # NFKC
        ("pa\u200byload\u202e\U000e0041", "payload"),  # unseen characters
        ("two\tlines\r\nhere\x07", "two lines here"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),  # no markup
    ],
)
def test_only_what_can_be_seen_is_left_of_a_field(raw: str, clean: str) -> None:
    assert clean_line(raw, 300) == clean


def test_a_field_is_cut_without_a_blank_at_its_end() -> None:
    assert clean_line("ab cd", 3) == "ab"


@given(st.text(max_size=400))
def test_scrubbed_text_is_printable_and_within_its_limit(raw: str) -> None:
    clean = clean_line(raw, 50)

    assert len(clean) <= 50
    assert clean.isprintable()


def test_a_text_holds_title_summary_categories_and_feed_together() -> None:
    text = screen_text_of(
        candidate(title="T", summary="<p>S</p>", categories=("a", " ", "b" * 99), feed_title="F")
    )

    assert text == ScreenText(
        ref=7, title="T", summary="S", categories=("a", "b" * 60), feed_title="F"
    )
    assert joined_text(text) == f"T. S. a, {'b' * 60}. F"


def test_a_candidate_without_words_is_an_empty_text() -> None:
    assert joined_text(screen_text_of(candidate())) == ""


def test_hidden_characters_are_counted_before_they_are_taken_out() -> None:
    text = screen_text_of(candidate(title="a\U000e0041\u202eb", categories=("\u2066c",)))

    assert (text.title, text.hidden_chars) == ("ab", 3)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Green power", "other"),
        ("绿色电力", "han"),
        ("LCA战机", "han"),  # enough of it
        ("A very long sentence that names 绿 once", "other"),
        ("", "other"),
        ("Зелёная энергия", "other"),
    ],
)
def test_a_text_is_compared_with_texts_of_its_own_script(text: str, script: str) -> None:
    assert script_of(text) == script


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ScreenText(ref=1, title="Bees"), True),
        (ScreenText(ref=1, title="", categories=("bees",)), True),
        (ScreenText(ref=1, title="🎉🎉🎉 42"), False),
        (ScreenText(ref=1, title="", feed_title="The Daily Bee"), False),
    ],
)
def test_emoji_and_a_feeds_title_alone_are_nothing_to_read(
    text: ScreenText, expected: object
) -> None:
    assert has_words(text) is expected
