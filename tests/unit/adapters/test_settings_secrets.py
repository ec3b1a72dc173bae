"""What is secret may lie in a file, addresses of stores are checked, and no password is ever shown."""

from pathlib import Path

import pytest

from feedmill.adapters.settings import load_config
from feedmill.errors import ConfigError

SECRET = "postgresql://mill:s3cret/with@signs@db.example/feeds"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a settings file."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mistakes(**environment: str) -> str:
    with pytest.raises(ConfigError) as problem:
        load_config(None, environment)
    return "\n".join(problem.value.mistakes)


def file_with(folder: Path, text: str) -> str:
    path = folder / "secret"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", ["FEEDMILL_STORE_URL", "DATABASE_URL"])
def test_a_store_is_named_by_our_own_variable_or_by_the_one_that_platforms_set(name: str) -> None:
    assert load_config(None, {name: SECRET}).store.url == SECRET


def test_our_own_variable_wins_over_the_one_that_platforms_set() -> None:
    given = {"DATABASE_URL": "postgresql://other/", "FEEDMILL_STORE_URL": SECRET}

    assert load_config(None, given).store.url == SECRET


def test_an_empty_address_is_none_as_compose_files_spell_it() -> None:
    given = {"FEEDMILL_STORE_URL": "", "FEEDMILL_BUS_URL": " ", "DATABASE_URL": ""}

    config = load_config(None, given)

    assert (config.store.url, config.bus.url) == (None, None)


@pytest.mark.parametrize(
    ("variable", "text", "part", "field", "value"),
    [
        ("FEEDMILL_STORE_URL", f"{SECRET}\n", "store", "url", SECRET),
        ("DATABASE_URL", f" {SECRET} \n\n", "store", "url", SECRET),
        ("FEEDMILL_BUS_URL", "nats://token@bus:4222\n", "bus", "url", "nats://token@bus:4222"),
        ("FEEDMILL_HOME", "/srv/mill\n", "store", "home", "/srv/mill"),
        ("FEEDMILL_RUN_CONCURRENCY", "7\n", "run", "concurrency", 7),
        ("HOST_RPS", "3\n", "host", "rps", 3.0),
        ("FEEDMILL_FETCH_CA_FILE", "/ca.pem\n", "fetch", "ca_file", "/ca.pem"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_any_variable_may_name_a_file_that_holds_its_value(
    variable: str, text: str, part: str, field: str, value: object, elsewhere: Path
) -> None:
    config = load_config(None, {f"{variable}_FILE": file_with(elsewhere, text)})

    assert getattr(getattr(config, part), field) == value


def test_a_setting_whose_own_name_ends_in_file_stays_what_it_is() -> None:
    assert load_config(None, {"FEEDMILL_FETCH_CA_FILE": "/ca.pem"}).fetch.ca_file == "/ca.pem"


def test_a_value_and_a_file_at_once_are_a_mistake_that_names_both(elsewhere: Path) -> None:
    path = file_with(elsewhere, SECRET)

    said = mistakes(DATABASE_URL=SECRET, DATABASE_URL_FILE=path)

    assert "DATABASE_URL and DATABASE_URL_FILE are both given" in said
    assert "s3cret" not in said


def test_a_file_that_cannot_be_read_is_named_with_its_variable(elsewhere: Path) -> None:
    binary = elsewhere / "binary"
    binary.write_bytes(b"\xff\xfe")

    said = mistakes(
        FEEDMILL_STORE_URL_FILE=str(elsewhere / "nowhere"), FEEDMILL_BUS_URL_FILE=str(binary)
    )

    assert "FEEDMILL_STORE_URL_FILE" in said
    assert "No such file" in said
    assert "it is not UTF-8" in said


def test_a_file_for_a_variable_that_does_not_exist_is_an_unknown_variable() -> None:
    assert "there is no part 'nonsense'" in mistakes(FEEDMILL_NONSENSE_X_FILE="/x")


@pytest.mark.parametrize("scheme", ["mysql", "sqlite", "http"])
def test_a_store_of_another_kind_is_refused_without_its_password(scheme: str) -> None:
    said = mistakes(DATABASE_URL=f"{scheme}://mill:s3cret@db.example/feeds")

    assert f"{scheme}://mill:***@db.example/feeds" in said
    assert "expected postgresql://" in said


def test_a_store_without_connections_is_refused() -> None:
    assert "invalid value 0: expected a whole number, at least 1" in mistakes(
        FEEDMILL_STORE_CONNECTIONS="0"
    )


def test_a_file_of_settings_with_a_bad_value_does_not_show_its_password(elsewhere: Path) -> None:
    (elsewhere / "feedmill.toml").write_text('[store]\nurl = ["postgresql://u:s3cret@h/x"]\n')

    said = mistakes()

    assert "[store] url" in said
    assert "s3cret" not in said
