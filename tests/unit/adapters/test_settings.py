"""Settings come from defaults, a file and the environment, and every mistake is told at once."""

from pathlib import Path

import msgspec
import msgspec.inspect
import pytest

from feedmill.adapters.settings import environment_name, fields_of, load_config, section_names
from feedmill.config import Config, ObserveConfig
from feedmill.errors import ConfigError


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a settings file."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def mistakes(path: Path | None = None, **environment: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as problem:
        load_config(path, environment)
    return problem.value.mistakes


def test_without_file_and_environment_the_defaults_hold() -> None:
    assert load_config(None, {}) == Config()


def test_the_environment_wins_over_the_file(elsewhere: Path) -> None:
    file = elsewhere / "feedmill.toml"
    file.write_text("[schedule]\nmin_interval_sec = 600\nmax_interval_sec = 7200\n")

    config = load_config(None, {"SCHED_MIN_INTERVAL_SEC": "900"})

    assert (config.schedule.min_interval_sec, config.schedule.max_interval_sec) == (900, 7200)


@pytest.mark.parametrize(
    ("variable", "text", "part", "field", "value"),
    [
        ("FEEDMILL_HOME", "/srv/mill", "store", "home", "/srv/mill"),
        ("FEEDMILL_EGRESS_ALLOW_CIDRS", "10.0.0.0/8, ::1/128", "fetch", "allow_cidrs",
         ("10.0.0.0/8", "::1/128")),
        ("FETCH_TIMEOUT_MS", "5000", "fetch", "timeout_ms", 5000),
        ("MAX_BODY_BYTES", "1000", "fetch", "max_body_bytes", 1000),
        ("SCHED_MAX_INTERVAL_SEC", "7200", "schedule", "max_interval_sec", 7200),
        ("SCHED_JITTER_RATIO", "0.5", "schedule", "jitter_ratio", 0.5),
        ("HOST_MAX_CONCURRENCY", "2", "host", "max_concurrency", 2),
        ("HOST_RPS", "3", "host", "rps", 3.0),
        ("NORMALIZE_ENABLED", "no", "normalise", "enabled", False),
        ("HASH_SUMMARY_PREFIX_LEN", "50", "identify", "hash_summary_prefix_len", 50),
        ("LINK_TRACKING_PARAMS", "a,b", "normalise", "link_tracking_params", ("a", "b")),
        ("SUMMARY_MAX_LEN", "9", "normalise", "summary_max_chars", 9),
        ("ALLOWED_ENCODINGS", "utf-8", "parse", "allowed_encodings", ("utf-8",)),
        ("ENCODING_CONFIDENCE_MIN", "0.9", "parse", "encoding_confidence_min", 0.9),
        ("ENCODING_SAMPLE_SIZE", "512", "parse", "encoding_sample_size", 512),
        ("FEEDMILL_FETCH_CA_FILE", "/ca.pem", "fetch", "ca_file", "/ca.pem"),
        ("FEEDMILL_STORE_SYNCHRONOUS", "full", "store", "synchronous", "full"),
        ("FEEDMILL_STORE_RAW_COPIES", "1", "store", "raw_copies", True),
    ],
)  # fmt: skip
def test_a_variable_sets_its_field(
    variable: str, text: str, part: str, field: str, value: object
) -> None:
    config = load_config(None, {variable: text})

    assert getattr(getattr(config, part), field) == value
    assert environment_name(part, field) == variable


def test_the_file_is_found_here_then_at_home_unless_it_is_named(elsewhere: Path) -> None:
    home, named = elsewhere / "home", elsewhere / "named.toml"
    home.mkdir()
    (home / "feedmill.toml").write_text("[host]\nrps = 2.0\n")
    named.write_text("[host]\nrps = 3.0\n")
    environment = {"FEEDMILL_HOME": str(home)}

    at_home = load_config(None, environment).host.rps
    by_variable = load_config(None, {**environment, "FEEDMILL_CONFIG": str(named)}).host.rps
    (elsewhere / "feedmill.toml").write_text("[host]\nrps = 4.0\n")
    here = load_config(None, environment).host.rps

    assert (at_home, by_variable, here) == (2.0, 3.0, 4.0)


def test_every_mistake_is_told_at_once_with_place_value_and_expectation(elsewhere: Path) -> None:
    file = elsewhere / "mine.toml"
    file.write_text(
        "stray = 1\n[fetch]\ntimeout_ms = 'soon'\nnonsense = 1\n[nowhere]\na = 1\n"
        "[schedule]\njitter_ratio = 2.0\nmin_interval_sec = 0\n"
    )

    told = mistakes(file, HOST_RPS="fast", FEEDMILL_LOG="loud", FEEDMILL_NO_SUCH="1")

    for words in (
        "stray stands outside any table",
        "[fetch] timeout_ms: invalid value 'soon': expected a whole number, at least 1 and at most 86,400,000",
        "[fetch] has no setting 'nonsense'",
        "there is no part 'nowhere'",
        "HOST_RPS: invalid value 'fast': expected a number, at least 0",
        "[schedule] jitter_ratio: invalid value 2.0: expected a number, at least 0 and below 1",
        "[schedule] min_interval_sec: invalid value 0: expected a whole number, at least 1",
        "FEEDMILL_LOG: invalid value 'loud'",
        "FEEDMILL_NO_SUCH: there is no part 'no'",
    ):
        assert any(words in one for one in told), words
    assert len(told) == 9


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"SCHED_MIN_INTERVAL_SEC": "9000", "SCHED_MAX_INTERVAL_SEC": "100"}, "is above"),
        ({"FETCH_TIMEOUT_MS": "200000"}, "lease_sec must outlast"),
        (
            {"FETCH_TIMEOUT_MS": "-5"},
            "FETCH_TIMEOUT_MS: invalid value -5: expected a whole number, at least 1",
        ),
        (
            {"FEEDMILL_RUN_IDLE_SEC": "0"},
            "FEEDMILL_RUN_IDLE_SEC: invalid value 0.0: expected a number, above 0",
        ),
        ({"FEEDMILL_RUN_IDLE_SEC": "inf"}, "at most"),
        (
            {"FEEDMILL_STORE_READERS": "0"},
            "invalid value 0: expected a whole number, at least 1 and at most 256",
        ),
        ({"FEEDMILL_SERVE_PORT": "70000"}, "at most 65,535"),
        (
            {"FEEDMILL_PUSH_PUBLIC_URL": "ftp://a.example"},
            "expected an http or https address, like https://",
        ),
        (
            {"DATABASE_URL": "mysql://a:b@db/x"},
            "DATABASE_URL: invalid value 'mysql://a:***@db/x': expected postgresql://user:password@host/name",
        ),
        ({"FEEDMILL_EGRESS_ALLOW_CIDRS": "everything"}, "everything"),
        ({"NORMALIZE_ENABLED": "perhaps"}, "expected true or false"),
        ({"FEEDMILL_STORE_SYNCHRONOUS": "off"}, "expected one of full, normal"),
        ({"FEEDMILL_CONFIG": "missing.toml"}, "cannot be read"),
        (
            {"FEEDMILL_OBSERVE_TRACE_RATIO": "1.5"},
            "invalid value 1.5: expected a number, at least 0 and at most 1",
        ),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, "http://localhost:4318"),
    ],
)
def test_what_makes_no_sense_is_refused(environment: dict[str, str], words: str) -> None:
    (told,) = mistakes(None, **environment)

    assert words in told


def test_a_foreign_database_url_is_no_matter_where_our_own_variable_is_set() -> None:
    ours = "postgresql://feedmill@db/feedmill"

    config = load_config(None, {"DATABASE_URL": "mysql://a:b@db/x", "FEEDMILL_STORE_URL": ours})

    assert config.store.url == ours


def test_every_number_among_the_settings_has_bounds_and_its_default_is_within_them() -> None:
    for part in section_names():
        for field in fields_of(part):
            kind = msgspec.inspect.type_info(field.type)
            if isinstance(kind, msgspec.inspect.IntType | msgspec.inspect.FloatType):
                has_least = kind.ge is not None or kind.gt is not None
                has_most = kind.le is not None or kind.lt is not None
                assert (has_least, has_most) == (True, True), f"[{part}] {field.name}"
            msgspec.convert(field.default, field.type)


@pytest.mark.parametrize("data", [b"[fetch\n", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_named(elsewhere: Path, data: bytes) -> None:
    file = elsewhere / "broken.toml"
    file.write_bytes(data)

    (told,) = mistakes(file)

    assert "is not TOML" in told
    assert str(file) in told


def test_variables_of_other_programs_are_none_of_ours() -> None:
    environment = {"FEEDMILL_LOG": "debug", "FEEDMILL_LOG_JSON": "1", "FEEDMILL_CORPUS": "x"}

    assert load_config(None, {**environment, "PATH": "/bin"}) == Config()


CELLS = "0-511=postgresql://mill:s3cret@one.example/feeds"


def test_a_file_that_names_cells_is_told_to_use_one_database(elsewhere: Path) -> None:
    file = elsewhere / "feedmill.toml"
    file.write_text(f'[store]\ncells = ["{CELLS}"]\n')

    (told,) = mistakes()

    assert told.startswith("feedmill.toml: [store] cells: cells are no longer supported")
    for words in ("one PostgreSQL", "FEEDMILL_STORE_URL", "`feedmill export`", "`feedmill import`"):
        assert words in told
    assert "s3cret" not in told


@pytest.mark.parametrize("variable", ["FEEDMILL_STORE_CELLS", "FEEDMILL_STORE_CELLS_FILE"])
def test_a_variable_that_names_cells_is_told_to_use_one_database(variable: str) -> None:
    (told,) = mistakes(None, **{variable: CELLS})

    assert told.startswith(f"{variable}: cells are no longer supported")
    assert "`feedmill export`" in told
    assert "s3cret" not in told


_COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param(_COLLECTOR, ObserveConfig(otlp_endpoint="http://collector:4318"), id="base"),
        pytest.param(
            _COLLECTOR | {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://other/v1/traces"},
            ObserveConfig(otlp_endpoint="http://other/v1/traces"),
            id="the one for traces wins",
        ),
        pytest.param(
            _COLLECTOR | {"FEEDMILL_OBSERVE_OTLP_ENDPOINT": "http://mine:4318"},
            ObserveConfig(otlp_endpoint="http://mine:4318"),
            id="our own name wins",
        ),
        pytest.param(
            {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"},
            ObserveConfig(trace_ratio=0.5),
            id="ratio",
        ),
        pytest.param(
            {"OTEL_TRACES_SAMPLER": "always_on", "OTEL_SERVICE_NAME": "mill"},
            ObserveConfig(trace_ratio=1.0, service_name="mill"),
            id="always on",
        ),
        pytest.param(_COLLECTOR | {"OTEL_SDK_DISABLED": "true"}, ObserveConfig(), id="disabled"),
        pytest.param(_COLLECTOR | {"OTEL_TRACES_EXPORTER": "none"}, ObserveConfig(), id="none"),
    ],
)
def test_variables_of_opentelemetry_set_the_traces(
    environment: dict[str, str], expected: ObserveConfig
) -> None:
    assert load_config(None, environment).observe == expected
