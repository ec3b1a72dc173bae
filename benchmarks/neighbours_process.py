"""The command line of feedmill with a name server of our own: its address is the first argument."""

import sys
from functools import partial

from feedmill.adapters.http import fetcher
from feedmill.adapters.http.resolver import AsyncResolver
from feedmill.interfaces.cli.main import main

if __name__ == "__main__":
    server = sys.argv.pop(1)
    vars(fetcher)["AsyncResolver"] = partial(AsyncResolver, servers=[server])
    main()
