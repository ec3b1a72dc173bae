"""Client for the REST API of a running engine: `async with Client("http://127.0.0.1:8080") as client`."""

from feedmill.client.client import Client, RawBytes

__all__ = ["Client", "RawBytes"]
