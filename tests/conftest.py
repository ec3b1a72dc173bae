"""What all tests share: how hypothesis looks for counter-examples.

`make test` tries the same examples every time, so that a green tree stays green; `make fuzz` and
HYPOTHESIS_PROFILE=explore look for new ones.
"""

import os

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
