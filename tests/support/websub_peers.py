"""WebSub peers that are not ours: flask_websub as a hub and as a subscriber, over real sockets.

Celery runs its tasks at once, in the thread of the request: the hub verifies before it answers 202.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import flask
from celery import Celery
from flask_websub.hub import Hub, SQLite3HubStorage
from flask_websub.subscriber import (
    SQLite3SubscriberStorage,
    SQLite3TempSubscriberStorage,
    Subscriber,
)
from werkzeug.serving import make_server


class PeerHub(NamedTuple):
    """A hub of another implementation."""

    url: str
    base: str
    hub: Any
    requests: list[dict[str, str]]  # forms that it was sent

    def publish(self, topic: str) -> None:
        """Let it fetch the topic and push to its subscribers."""
        self.hub.send_change_notification.delay(topic)

    def subscribers(self, topic: str) -> list[tuple[str, str]]:
        """Callbacks and secrets."""
        return list(self.hub.storage.get_callbacks(topic))


class PeerSubscriber(NamedTuple):
    """A subscriber of another implementation."""

    app: flask.Flask
    subscriber: Any
    got: list[tuple[str, bytes]]  # topics and bodies
    errors: list[str]

    def subscribe(self, topic: str, hub: str, **more: Any) -> str:
        """Ask a hub; the id of the callback."""
        with self.app.test_request_context(base_url=self.app.config["BASE"]):
            callback: str = self.subscriber.subscribe(topic_url=topic, hub_url=hub, **more)
            return callback

    def unsubscribe(self, callback: str) -> None:
        """Ask the hub to stop."""
        with self.app.test_request_context(base_url=self.app.config["BASE"]):
            self.subscriber.unsubscribe(callback)


def _celery() -> Celery:
    celery = Celery("peers", broker="memory://", backend="cache+memory://")
    celery.conf.task_always_eager = True
    return celery


@contextmanager
def peer_hub(
    folder: Path, *, algorithm: str = "sha256", deny: Callable[..., str | None] | None = None
) -> Iterator[PeerHub]:
    """A hub at /hub, and behind redirects at /moved/307 and /moved/308."""
    folder.mkdir(parents=True, exist_ok=True)
    app = flask.Flask("hub")
    hub = Hub(
        SQLite3HubStorage(str(folder / "hub.sqlite3")),
        _celery(),
        SIGNATURE_ALGORITHM=algorithm,
        MAX_ATTEMPTS=0,
    )
    if deny is not None:
        hub.register_validator(deny)
    app.register_blueprint(hub.build_blueprint(url_prefix="/hub"))
    requests: list[dict[str, str]] = []

    @app.before_request
    def note() -> None:
        if flask.request.method == "POST" and flask.request.path == "/hub":
            requests.append(dict(flask.request.form))

    @app.route("/moved/<int:code>", methods=["POST"])
    def moved(code: int) -> Any:
        return flask.redirect("/hub", code=code)

    with _serving(app) as base:
        yield PeerHub(f"{base}/hub", base, hub, requests)


@contextmanager
def peer_subscriber(folder: Path) -> Iterator[PeerSubscriber]:
    """A subscriber with its callbacks at /callbacks."""
    folder.mkdir(parents=True, exist_ok=True)
    app = flask.Flask("subscriber")
    subscriber = Subscriber(
        SQLite3SubscriberStorage(str(folder / "subscriber.sqlite3")),
        SQLite3TempSubscriberStorage(str(folder / "temp.sqlite3")),
    )
    app.register_blueprint(subscriber.build_blueprint(url_prefix="/callbacks"))
    got: list[tuple[str, bytes]] = []
    errors: list[str] = []
    subscriber.add_listener(lambda topic, _, body: got.append((topic, body)))
    subscriber.add_error_handler(lambda _, __, reason: errors.append(reason))
    with _serving(app) as base:
        app.config["BASE"] = base
        yield PeerSubscriber(app, subscriber, got, errors)


@contextmanager
def _serving(app: flask.Flask) -> Iterator[str]:
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class RawSubscriber(NamedTuple):
    """A callback that echoes every challenge and keeps what it is sent."""

    url: str
    got: list[tuple[dict[str, str], bytes]]  # headers and bodies
    challenges: list[dict[str, str]]


@contextmanager
def raw_subscriber(
    *, status: int = 204, echo: bool = True, redirect: bool = False
) -> Iterator[RawSubscriber]:
    """A callback that answers deliveries with `status`; `redirect` leaves the echo to another address."""
    app = flask.Flask("raw")
    got: list[tuple[dict[str, str], bytes]] = []
    challenges: list[dict[str, str]] = []

    @app.route("/cb", methods=["GET", "POST"])
    def callback() -> Any:
        if flask.request.method == "POST":
            got.append((dict(flask.request.headers), flask.request.get_data()))
            return "", status
        challenges.append(dict(flask.request.args))
        if redirect:
            return flask.redirect(f"/elsewhere?{flask.request.query_string.decode()}")
        return flask.request.args["hub.challenge"] if echo else ("no", 404)

    @app.route("/elsewhere")
    def elsewhere() -> str:
        challenges.append(dict(flask.request.args))
        return flask.request.args["hub.challenge"]

    with _serving(app) as base:
        yield RawSubscriber(f"{base}/cb?own=1", got, challenges)
