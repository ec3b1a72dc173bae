"""What all tests share: how hypothesis looks for counter-examples, and the servers.

`make test` tries the same examples every time, so that a green tree stays green; `make fuzz` and
HYPOTHESIS_PROFILE=explore look for new ones.
"""

import os

from hypothesis import settings
from tests.support.servers.databases import (  # noqa: F401 - likewise
    emptied_dsn,
    migrated_dsn,
    one_database,
)
from tests.support.servers.fixtures import (  # noqa: F401 - pytest finds fixtures by their names here
    nats_server,
    postgres,
    postgres_dsn,
    s3_server,
    valkey_server,
)

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
