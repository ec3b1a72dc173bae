"""A stage for stories of collecting and inserting, and the command line beside a publisher."""

from tests.integration.cli.conftest import beside, mill, publisher
from tests.integration.engine.conftest import play, store_url

__all__ = ["beside", "mill", "play", "publisher", "store_url"]
