"""`feedmill api`: serve REST and gRPC beside workers; never poll."""
# Tested in tests/integration/interfaces/cli/

from feedmill.interfaces.cli.command import command
from feedmill.interfaces.cli.run_command import config_of
from feedmill.interfaces.cli.servers import ListenOptions, listen_options, serve_until_stopped


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
