"""Forms as WebSub sends them."""

from feedmill.push.hub import decode_form, encode_form


def test_form_is_read_as_it_was_written() -> None:
    fields = {"hub.topic": "https://a.example/?x=1&y=ü b", "hub.mode": "subscribe"}

    assert decode_form(encode_form(fields)) == fields


def test_first_of_a_repeated_field_counts_and_fields_are_limited() -> None:
    assert decode_form("a=1&a=2") == {"a": "1"}
    assert len(decode_form("&".join(f"f{number}=1" for number in range(99)))) == 50
