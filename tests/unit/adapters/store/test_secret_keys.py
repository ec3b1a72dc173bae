"""Secrets are encrypted with the first key and decrypted with any; a wrong key is an error that says what to do."""

from base64 import b64decode
from pathlib import Path

import pytest

from feedmill.adapters.store.secret_keys import (
    SecretKeys,
    key_in,
    new_key,
    seal,
    unseal,
    use_keys_of_environment,
)
from feedmill.errors import ConfigError, FeedmillError, SecretKeyError

OLD, NEW = new_key(), new_key()


@pytest.fixture(autouse=True)
def _no_keys_afterwards() -> object:
    yield
    use_keys_of_environment({})


def keys_of(*keys: str) -> SecretKeys:
    return use_keys_of_environment({"FEEDMILL_SECRET_KEY": " ".join(keys)})


def test_text_comes_back_and_is_not_in_what_is_stored() -> None:
    keys = keys_of(NEW)

    sealed = keys.seal("pässword")

    assert "ssword" not in sealed
    assert key_in(sealed) == keys.current
    assert keys.open(sealed) == "pässword"
    assert keys.seal("pässword") != sealed  # a nonce of its own


def test_without_a_key_texts_stay_as_they_are() -> None:
    keys = use_keys_of_environment({})

    assert keys.seal("password") == keys.open("password") == "password"
    assert key_in("password") is None


def test_older_key_still_decrypts() -> None:
    sealed = keys_of(OLD).seal("password")

    both = keys_of(NEW, OLD)

    assert both.open(sealed) == "password"
    assert key_in(both.seal("password")) != key_in(sealed)


@pytest.mark.parametrize(("given", "words"), [((), "no key is given"), ((NEW,), "the key given")])
def test_missing_key_is_named_with_what_to_do(given: tuple[str, ...], words: str) -> None:
    sealed = keys_of(OLD).seal("password")
    keys = keys_of(*given)

    with pytest.raises(SecretKeyError, match=words) as raised:
        keys.open(sealed)

    assert f"{key_in(sealed)}" in str(raised.value)
    assert "FEEDMILL_SECRET_KEY" in raised.value.hint


def test_changed_text_is_damage_and_not_another_secret() -> None:
    keys = keys_of(NEW)
    sealed = keys.seal("password")
    place = sealed.rindex(".") + 20
    letter = "A" if sealed[place] != "A" else "B"

    with pytest.raises(SecretKeyError, match="damaged"):
        keys.open(sealed[:place] + letter + sealed[place + 1 :])


def test_keys_come_from_a_file_one_to_a_line(tmp_path: Path) -> None:
    sealed = keys_of(OLD).seal("password")
    file = tmp_path / "keys"
    file.write_text(f"{NEW}\n{OLD}\n")

    keys = use_keys_of_environment({"FEEDMILL_SECRET_KEY_FILE": str(file)})

    assert keys.open(sealed) == "password"


@pytest.mark.parametrize(
    "text", ["short", "x" * 44, "ä" * 44], ids=["short", "no key", "no base64"]
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="feedmill secrets key"):
        keys_of(text)


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(FeedmillError, match="none"):
        use_keys_of_environment({"FEEDMILL_SECRET_KEY_FILE": str(tmp_path / "none")})


@pytest.mark.parametrize("text", ["", " \n"])
def test_file_without_a_key_is_refused(tmp_path: Path, text: str) -> None:
    """Secrets would be stored as they are, although a key was asked for."""
    file = tmp_path / "secret.key"
    file.write_text(text)

    with pytest.raises(ConfigError, match=r"secret\.key holds no key; `feedmill secrets key`"):
        use_keys_of_environment({"FEEDMILL_SECRET_KEY_FILE": str(file)})


def test_key_in_the_environment_and_in_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    file.write_text(OLD)

    with pytest.raises(ConfigError, match="both set"):
        use_keys_of_environment({"FEEDMILL_SECRET_KEY": NEW, "FEEDMILL_SECRET_KEY_FILE": str(file)})


def test_file_that_is_empty_for_a_moment_does_not_take_the_keys_of_a_process(
    tmp_path: Path,
) -> None:
    file = tmp_path / "secret.key"
    file.write_text(OLD)
    ours = use_keys_of_environment({"FEEDMILL_SECRET_KEY_FILE": str(file)})
    theirs = SecretKeys((b64decode(NEW, altchars=b"-_"),)).seal("password")
    file.write_text("")

    with pytest.raises(SecretKeyError, match="the key given"):
        unseal(theirs)

    assert key_in(seal("another")) == ours.current


def test_key_that_another_process_has_changed_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "secret.key"
    file.write_text(OLD)
    use_keys_of_environment({"FEEDMILL_SECRET_KEY_FILE": str(file)})
    file.write_text(f"{NEW}\n{OLD}\n")
    theirs = SecretKeys((b64decode(NEW, altchars=b"-_"),))

    assert unseal(theirs.seal("password")) == "password"
    assert key_in(seal("another")) == theirs.current


@pytest.mark.parametrize("text", [OLD, "no key at all"], ids=["the old key", "no key"])
def test_key_that_the_file_does_not_have_either_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "secret.key"
    file.write_text(OLD)
    use_keys_of_environment({"FEEDMILL_SECRET_KEY_FILE": str(file)})
    sealed = SecretKeys((b64decode(NEW, altchars=b"-_"),)).seal("password")
    file.write_text(text)

    with pytest.raises(SecretKeyError, match="the key given"):
        unseal(sealed)
