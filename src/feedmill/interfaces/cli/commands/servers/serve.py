"""`feedmill serve` and `feedmill api`: serve REST and gRPC; `serve --with-mill` also polls, `api` never does."""
# Tested in tests/integration/interfaces/cli/

from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.options import flag
from feedmill.interfaces.cli.run_command import config_of
from feedmill.interfaces.cli.servers import ListenOptions, listen_options, serve_until_stopped


@command()
@listen_options
@flag("--with-mill", "Poll, deliver and run maintenance in the same process.")
def serve(host: str | None, port: int | None, grpc_port: int | None, *, with_mill: bool) -> None:
    """Serve the REST API, and gRPC with --grpc, until SIGTERM or Ctrl-C; running requests are finished.

    Without any token only clients on this machine are served. An address reachable from other
    machines needs a token first: `feedmill token create`.

    \b
    Examples:
      feedmill serve --with-mill
      curl http://127.0.0.1:8642/entries?limit=10
    """
    config = config_of()
    serve_until_stopped(config, ListenOptions(host, port, grpc_port), with_mill=with_mill)


@command()
@listen_options
def api(host: str | None, port: int | None, grpc_port: int | None) -> None:
    """Serve the REST and gRPC APIs beside workers and relays, without polling.

    It waits for `feedmill migrate`. Any number of API processes can share one store; `feedmill relay`
    delivers to webhooks and to the bus.

    \b
    Examples:
      feedmill api --host 0.0.0.0 --grpc 50051    # on DATABASE_URL
    """
    config = config_of()
    serve_until_stopped(config, ListenOptions(host, port, grpc_port), with_mill=False)
