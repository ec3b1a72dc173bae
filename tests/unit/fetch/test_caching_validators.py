"""Validators are learnt, renewed and sent back byte for byte."""

import pytest

from feedmill.fetch.caching import (
    are_valid_for,
    conditional_fields,
    learn_validators,
    renew_validators,
)
from feedmill.model.fetch import Headers, Validators

_URL = "https://example.com/feed"
_SENT = (("User-Agent", "feedmill/1"), ("Accept", "a/b"), ("Accept-Encoding", "gzip"))


@pytest.mark.parametrize(
    "etag",
    [
        pytest.param('"a"', id="strong"),
        pytest.param('W/"a"', id="weak"),
        pytest.param('""', id="empty tag"),
        pytest.param("abc", id="unquoted, as in the wild"),
        pytest.param('"a\\"b"', id="inner quotes"),
        pytest.param('"caf\xe9"', id="octets beyond ASCII"),
        pytest.param('"' + "a" * 8_192 + '"', id="eight kilobytes"),
        pytest.param('"x-gzip"', id="coding suffix stays on the wire"),
    ],
)
def test_an_etag_goes_back_as_it_came(etag: str) -> None:
    validators = learn_validators((("ETag", etag),), _SENT, _URL)

    assert validators is not None
    assert conditional_fields(validators) == (("If-None-Match", etag),)


def test_last_modified_goes_back_as_the_same_string_however_odd() -> None:
    odd = "tue, 1 oct 2025 1:2:3 GMT"

    validators = learn_validators((("ETag", '"a"'), ("Last-Modified", odd)), _SENT, _URL)

    assert validators is not None
    assert conditional_fields(validators) == (("If-None-Match", '"a"'), ("If-Modified-Since", odd))


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((), id="none given"),
        pytest.param((("ETag", " "),), id="blank"),
        pytest.param((("ETag", '"a"\r\nX-Evil: 1'),), id="line end"),
        pytest.param((("ETag", '"' + "a" * 20_000 + '"'),), id="longer than any tag"),
    ],
)
def test_what_cannot_be_sent_back_is_not_learnt(headers: Headers) -> None:
    assert learn_validators(headers, _SENT, _URL) is None


def test_a_line_end_that_got_into_the_store_is_never_sent() -> None:
    stored = Validators(etag='"a"\r\nX-Evil: 1', last_modified="yesterday\n")

    assert conditional_fields(stored) == ()


def test_validators_remember_what_vary_names_and_where_they_belong() -> None:
    headers = (("ETag", '"a"'), ("Vary", "Accept-Encoding, accept"), ("Vary", "Accept,,Origin"))

    validators = learn_validators(headers, _SENT, f"{_URL}#top")

    assert validators == Validators(
        etag='"a"',
        url=_URL,
        vary=(("accept-encoding", "gzip"), ("accept", "a/b"), ("origin", "")),
    )


def test_credentials_and_conditions_are_not_remembered_for_vary() -> None:
    headers = (("ETag", '"a"'), ("Vary", "Authorization, Cookie, If-None-Match"))
    sent = (("Authorization", "Basic c2VjcmV0"), ("If-None-Match", '"b"'))

    validators = learn_validators(headers, sent, _URL)

    assert validators == Validators(etag='"a"', url=_URL)


class TestVary:
    _STORED = Validators(etag='"a"', vary=(("user-agent", "feedmill/1"), ("accept", "a/b")))

    def test_they_hold_for_the_same_request(self) -> None:
        assert are_valid_for(self._STORED, _SENT)

    def test_they_do_not_hold_after_an_upgrade_changed_our_name(self) -> None:
        assert not are_valid_for(self._STORED, (("User-Agent", "feedmill/2"), ("Accept", "a/b")))

    def test_they_never_hold_when_the_server_varies_on_anything(self) -> None:
        stored = learn_validators((("ETag", '"a"'), ("Vary", "*")), _SENT, _URL)

        assert stored is not None
        assert not are_valid_for(stored, _SENT)


class TestRenewal:
    _STORED = Validators(etag='"a"', last_modified="then", url=_URL, vary=(("accept", "a/b"),))

    def test_a_bare_304_changes_nothing(self) -> None:
        assert renew_validators(self._STORED, (), _SENT, _URL) == self._STORED

    def test_a_304_with_the_stored_tag_changes_nothing(self) -> None:
        assert renew_validators(self._STORED, (("ETag", '"a"'),), _SENT, _URL) == self._STORED

    def test_a_304_brings_validators_and_vary_up_to_date(self) -> None:
        headers = (("ETag", 'W/"b"'), ("Last-Modified", "now"), ("Vary", "User-Agent, *"))

        assert renew_validators(self._STORED, headers, _SENT, _URL) == Validators(
            etag='W/"b"',
            last_modified="now",
            url=_URL,
            vary=(("user-agent", "feedmill/1"),),
            vary_any=True,
        )

    def test_another_strong_tag_means_that_we_have_to_start_over(self) -> None:
        assert renew_validators(self._STORED, (("ETag", '"b"'),), _SENT, _URL) is None

    def test_a_first_tag_is_learnt_from_a_304(self) -> None:
        stored = Validators(last_modified="then")

        renewed = renew_validators(stored, (("ETag", '"b"'),), _SENT, _URL)

        assert renewed == Validators(etag='"b"', last_modified="then", url=_URL)

    @pytest.mark.parametrize(
        ("stored", "received"),
        [
            pytest.param('W/"a"', '"a"', id="nginx weakens what it compresses"),
            pytest.param('"a-gzip"', '"a"', id="Apache marks what it compresses"),
            pytest.param('"a;br"', '"a-gzip"', id="two marks"),
        ],
    )
    def test_the_mark_of_a_coding_is_no_other_representation(
        self, stored: str, received: str
    ) -> None:
        renewed = renew_validators(Validators(etag=stored), (("ETag", received),), _SENT, _URL)

        assert renewed is not None
        assert renewed.etag == received
