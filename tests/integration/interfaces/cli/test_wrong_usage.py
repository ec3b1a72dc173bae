"""Wrong usages: each is refused in words that name the mistake, with 1 or 2, and writes nothing."""

import sqlite3
from contextlib import closing

import pytest
from tests.support.command_line import Mill, Said

# The exit code, what the message has to say, and the words after `feedmill`.
WRONG: tuple[tuple[int | str, ...], ...] = (
    (2, "No such command 'nosuch'", "nosuch"),
    (2, "Did you mean list", "lst"),
    (2, "No such option", "--nosuch"),
    (2, "requires an argument", "--home"),
    (2, "does not exist", "--config", "missing.toml", "list"),
    (2, "is a directory", "--config", ".", "list"),
    (2, "No such option", "-v", "-q", "list"),
    (2, "Missing argument 'URL...'", "add"),
    (2, "not a web address", "add", "nonsense address with spaces"),
    (2, "not a web address", "add", "ftp://example.com/feed"),
    (2, "invalid address", "add", "javascript:alert(1)"),
    (2, "private address", "add", "http://192.168.1.10/feed"),
    (2, "private", "add", "http://[::1]/feed"),
    (2, "is a private address", "add", "http://169.254.169.254/latest"),
    (2, "not a web address", "add", "--as-is", "https://user@@example.com:99999/x"),
    (2, "--min-interval", "add", "https://example.com/", "--min-interval", "0"),
    (2, "not a valid integer", "add", "https://example.com/", "--min-interval", "soon"),
    (
        2,
        "is above --max-interval",
        "add",
        "https://example.com/",
        "--min-interval",
        "60",
        "--max-interval",
        "30",
    ),
    (2, "is not NAME:VALUE", "add", "https://example.com/", "--header", "NoColon"),
    (2, "is not NAME:VALUE", "add", "https://example.com/", "--header", ": empty"),
    (2, "requires an argument", "add", "https://example.com/", "--tag"),
    (2, "No such option", "add", "--bogus", "https://example.com/"),
    (2, "Missing argument", "import"),
    (2, "missing.opml", "import", "missing.opml"),
    (2, "directory", "import", "."),
    (2, "pdf", "export", "--format", "pdf"),
    (2, "'sad' is not one of", "list", "--state", "sad"),
    (2, "contradict", "list", "--failing", "--state", "paused"),
    (2, "-1 is not in the range", "list", "--limit", "-1"),
    (2, "not a valid integer", "list", "--limit", "ten"),
    (2, "no cursor of this list", "list", "--after", "garbage"),
    (2, "unexpected extra argument", "list", "extra"),
    (2, "Missing argument 'FEED'", "show"),
    (1, "there is no feed 'unknown'", "show", "unknown"),
    (1, "there is no feed", "show", ""),
    (2, "unexpected extra argument", "show", "a", "b"),
    (2, "pass --yes", "remove", "unknown"),
    (1, "there is no feed", "remove", "--yes", "unknown"),
    (2, "Missing argument", "remove"),
    (1, "there is no feed", "pause", "unknown"),
    (1, "there is no feed", "resume", "unknown"),
    (1, "there is no feed", "move", "unknown"),
    (2, "--undo", "move", "a", "https://b.example/", "--undo"),
    (2, "--force needs a URL", "move", "a", "--force"),
    (1, "there is no feed", "sync", "--feed", "unknown"),
    (2, "does not take a value", "sync", "--force=yes"),
    (2, "-1", "run", "--for", "-1"),
    (2, "add --console", "run", "--port", "80"),
    (2, "choose one", "run", "--stdout", "--json"),
    (2, "0 is not in the range", "run", "--metrics-port", "0"),
    (2, "70000 is not in the range", "run", "--metrics-port", "70000"),
    (2, "-5 is not in the range", "serve", "--port", "-5"),
    (2, "not a valid integer", "serve", "--port", "http"),
    (2, "not in the range", "serve", "--grpc", "99999"),
    (2, "not a valid number", "worker", "--for", "now"),
    (2, "exactly one of", "ingest-one"),
    (2, "File 'a' does not exist", "ingest-one", "--file", "a", "--feed-url", "https://b.example"),
    (2, "does not exist", "ingest-one", "--file", "missing.xml"),
    (1, "there is no feed", "ingest-one", "--feed-id", "unknown"),
    (2, "not a web address", "ingest-one", "--feed-url", "nonsense"),
    (2, "is not a time", "entries", "--since", "yesteryear"),
    (2, "is not a time", "entries", "--published-until", "32.13.2025"),
    (1, "there is no feed", "entries", "--feed", "unknown"),
    (1, "there is no feed", "entries", "--feed", ""),  # as a script with an empty variable says it
    (1, "there is no feed", "search", "word", "--feed", ""),
    (1, "there is no feed", "jobs", "--feed", ""),
    (1, "there is no feed", "media", "list", "--feed", ""),
    (1, "there is no feed", "media", "prune", "--feed", ""),
    (1, "there is no feed", "webhook", "add", "https://example.com/hook", "--feed", ""),
    (2, "'size' is not one of", "entries", "--order", "size"),
    (2, "exclude each other", "entries", "--duplicates", "--clusters"),
    (2, "it is empty", "entries", "--category", ""),
    (2, "it is empty", "entries", "--after", ""),
    (2, "is after until", "entries", "--since", "2026-11-20", "--until", "2026-11-01"),
    (2, "published_since", "search", "a", "--published-since", "2026", "--published-until", "2025"),
    (2, "no cursor of this list", "articles", "--after", "1795003200000000.71"),
    (2, "it is empty", "list", "--tag", ""),
    (2, "it is empty", "list", "--host", " "),
    (2, "Invalid value for --tag", "add", "https://example.com/", "--as-is", "--tag", "a" * 101),
    (2, "'--tag': it is empty", "add", "https://example.com/", "--as-is", "--tag", ""),
    (2, "'--title': it is empty", "add", "https://example.com/", "--as-is", "--title", ""),
    (2, "'--username': it is empty", "add", "https://example.com/", "--as-is", "--username", ""),
    (2, "--header", "add", "https://example.com/", "--as-is", "--header", "A: b\nC: d"),
    (2, "--header", "add", "https://example.com/", "--as-is", "--header", "B\u00f6se: a"),
    (2, "--user-agent", "add", "https://example.com/", "--as-is", "--user-agent", "a\nb"),
    (2, "invalid proxy URL", "add", "https://example.com/", "--as-is", "--proxy", "proxy"),
    (2, "--min-interval", "add", "https://example.com/", "--as-is", "--min-interval", "9" * 12),
    (2, "too large", "add", "https://example.com/", "--as-is", "--min-interval", "9" * 20),
    (2, "--tag: a character", "import", "--tag", "a\nb", "-"),
    (2, "too large", "clusters", "--min-feeds", "9" * 20),
    (2, "too large", "jobs", "cancel", "9" * 20),
    (2, "too large", "webhook", "add", "https://a.example/", "--from", "9" * 20),
    (2, "it is empty", "webhook", "add", "https://a.example/", "--tag", ""),
    (2, "is not a number", "run", "--for", "nan"),
    (2, "is not a number", "quota", "x", "--times", "nan"),
    (2, "is not a number", "healthcheck", "--timeout", "nan"),
    (2, "is not a number", "duplicates", "--min-share", "nan"),
    (2, "is too long", "media", "prune", "--older-than", "999999d"),
    (2, "is a directory", "export", "entries", "--out", "/"),
    (2, "is a directory", "export", "--out", "."),
    (2, "it is empty", "export", "entries", "--tag", ""),
    (2, "is after until", "export", "entries", "--since", "2026-11-20", "--until", "2026-11-01"),
    (2, "--format is for a table", "export", "snapshot", "--format", "csv", "--out", "a.csv"),
    (2, "--tag is for a table", "export", "snapshot", "--tag", "news", "--out", "a.db"),
    (2, "leave out WHAT", "export", "entries", "--with-secrets"),
    (2, "not both", "replay", "--all", "x"),
    (2, "both seed and budget", "simulate", "--all", "--policy", "seed", "--set", "policy=budget"),
    (2, "exclude each other", "search", "word", "--duplicates", "--clusters"),
    (2, "no cursor of this list", "entries", "--after", "xyz"),
    (2, "Missing argument", "entry"),
    (1, "there is no entry", "entry", "unknown"),
    (1, "no raw document", "raw", "unknown"),
    (2, "there is no feed", "diff", "unknown"),
    (1, "there is no feed", "explain", "unknown"),
    (2, "0 is not in the range", "explain", "x", "--history", "0"),
    (2, "'beauty' is not one of", "top", "--by", "beauty"),
    (2, "0 is not in the range", "top", "--days", "0"),
    (1, "nowhere.example", "hosts", "nowhere.example"),
    (2, "nosuch", "simulate", "--policy", "nosuch"),
    (2, "name feeds or pass --all", "replay"),
    (1, "there is no feed", "replay", "unknown"),
    (1, "there is no feed", "backfill", "unknown"),
    (2, "0 is not in the range", "backfill", "x", "--pages", "0"),
    (2, "'odd' is not one of", "jobs", "--state", "odd"),
    (2, "0 is not in the range", "jobs", "cancel", "0"),
    (1, "99", "jobs", "cancel", "99"),
    (2, "not a valid integer", "jobs", "retry", "seven"),
    (1, "unknown", "media", "get", "unknown"),
    (2, "is not a duration", "media", "prune", "--older-than", "soon"),
    (1, "there is no feed", "fulltext", "fetch", "unknown"),
    (2, "name feeds or pass --all", "fulltext", "replay"),
    (2, "Missing argument", "token", "create"),
    (2, "'root' is not one of", "token", "create", "x", "--scope", "root"),
    (2, "is not a duration", "token", "create", "x", "--expires", "1 week"),
    (2, "cannot expire before", "token", "create", "x", "--expires", "0"),
    (2, "printable characters", "token", "create", ""),
    (1, "there is no token", "token", "revoke", "unknown"),
    (1, "there is no token", "token", "rotate", "unknown"),
    (2, "nonsense", "webhook", "add", "nonsense"),
    (2, "no_such", "webhook", "add", "https://a.example/", "--types", "no_such"),
    (2, "0 is not in the range", "webhook", "add", "https://a.example/", "--from", "0"),
    (1, "there is no webhook", "webhook", "remove", "unknown"),
    (2, "Missing option '--from'", "webhook", "replay", "x"),
    (2, "Usage: feedmill webhook", "webhook"),
    (1, "unknown", "cursors", "drop", "unknown"),
    (1, "there is no feed", "quota", "unknown"),
    (2, "exclude each other", "quota", "x", "--times", "2", "--default"),
    (2, "Missing argument", "blobs", "migrate"),
    (2, "one or two addresses", "blobs", "migrate", "a", "b", "c"),
    (2, "already holds", "blobs", "migrate", "local"),
    (
        1,
        "there is no such file",
        "store",
        "migrate",
        "sqlite:missing.db",
        "postgresql://127.0.0.1:1/x",
    ),
    (2, "Usage: feedmill config", "config"),
    (2, "No such command", "config", "set"),
    (2, "'tcsh' is not one of", "completion", "tcsh"),
    (2, "Missing argument", "parse"),
    (2, "missing.xml", "parse", "missing.xml"),
    (2, "give --start", "collect-window"),
    (2, "soon", "collect-window", "--last", "soon", "--all"),
    (2, "missing.json", "screen", "missing.json"),
    (1, "does not exist", "review", "missing.json"),
    (1, "does not exist", "insert-selected", "--candidates", "missing.json", "--selected-ids", "1"),
    (2, "Missing argument", "canonicalize"),
    (1, "is no web address", "canonicalize", "nonsense address"),
    (1, "feedmill: the address is empty (malformed-url)", "canonicalize", " "),
    (1, "there is no model 'nosuch'", "models", "install", "nosuch"),
    (2, "is not a URL", "healthcheck", "--url", "nonsense"),
    (2, "Missing argument", "search"),
    (2, "Missing argument", "discover"),
    (2, "2", "duplicates", "--min-share", "2"),
    (2, "1 is not in the range", "clusters", "--min-feeds", "1"),
    (1, "c999", "clusters", "c999"),
    (2, "pass --all", "held", "drop"),
    (1, "there is no live screen", "screen-live", "remove", "unknown"),
    (1, "not a terminal", "confirm"),
    (1, "unknown", "fixture", "unknown"),
    (2, "an argument is not valid UTF-8", "show", "z\udcfcrich"),
    (2, "an argument is not valid UTF-8", "--home", "\udcff", "list"),
)
# A variable, its value, and what the message has to say.
WRONG_SETTINGS = (
    ("FETCH_TIMEOUT_MS", "-5", "at least 1"),
    ("FETCH_TIMEOUT_MS", "soon", "a whole number"),
    ("HOST_RPS", "-1", "at least 0"),
    ("HOST_RPS", "nan", "a number"),
    ("SCHED_JITTER_RATIO", "1", "below 1"),
    ("DATABASE_URL", "mysql://a:b@c/d", "DATABASE_URL: invalid value 'mysql://a:***@c/d'"),
    ("FEEDMILL_STORE_URL", "sqlite:///x", "expected postgresql://"),
    ("FEEDMILL_SERVE_PORT", "65536", "at most 65,535"),
    ("FEEDMILL_RUN_CONCURRENCY", "0", "at least 1"),
    ("FEEDMILL_PUSH_PUBLIC_URL", "mill.example", "an http or https address"),
    ("FEEDMILL_STORE_SYNCHRONOUS", "off", "one of full, normal"),
    ("NORMALIZE_ENABLED", "maybe", "true or false"),
    ("FEEDMILL_FETCH_NO_SUCH", "1", "has no setting 'no_such'"),
    ("FEEDMILL_NOWHERE_AT_ALL", "1", "there is no part"),
    ("FEEDMILL_LOG", "loud", "expected one of"),
    ("FEEDMILL_CONFIG", "missing.toml", "cannot be read"),
    ("FEEDMILL_EGRESS_ALLOW_CIDRS", "everywhere", "everywhere"),
    ("FEEDMILL_OBSERVE_TRACE_RATIO", "2", "at most 1"),
)
ROWS = ("feeds", "entries", "tokens", "webhooks", "jobs", "live_screens", "events", "fetches")


@pytest.mark.parametrize("case", WRONG, ids=lambda case: " ".join(map(ascii, case[2:]))[:60])
def test_wrong_usage_is_refused_in_words_and_writes_nothing(
    mill: Mill, case: tuple[int | str, ...]
) -> None:
    status, message, *words = case

    said = mill(*map(str, words))

    assert (said.status, str(message) in said.err) == (status, True), said
    check_calm(said)
    check_nothing_written(mill)


@pytest.mark.parametrize(("variable", "value", "message"), WRONG_SETTINGS)
def test_wrong_setting_is_refused_with_its_variable_and_writes_nothing(
    mill: Mill, variable: str, value: str, message: str
) -> None:
    mill.setenv(**{variable: value})

    said = mill("list")

    assert (said.status, message in said.err) == (2, True), said
    check_calm(said)
    assert not mill.home.exists()


def test_there_are_more_than_a_hundred_wrong_usages() -> None:
    assert len(WRONG) + len(WRONG_SETTINGS) > 100


def check_calm(said: Said) -> None:
    """No traceback, no blame on feedmill itself, nothing on standard output."""
    assert "Traceback" not in said.err
    assert "bug in feedmill" not in said.err
    assert said.out == b""


def check_nothing_written(mill: Mill) -> None:
    """Nothing beside the home folder, and no row in a store that was opened."""
    assert [path.name for path in mill.folder.iterdir() if path != mill.home] == []
    file = mill.home / "feedmill.db"
    if not file.exists():
        return
    with closing(sqlite3.connect(file)) as store:
        known = {name for (name,) in store.execute("SELECT name FROM sqlite_schema")}
        found = {
            name: store.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ROWS
            if name in known
        }
    assert not any(found.values()), found
