"""The name of the account that this process runs under."""
# Tested in tests/integration/interfaces/cli/

import getpass


def user_name() -> str:
    """The name of the current user."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, in a container say
        return "unknown"
