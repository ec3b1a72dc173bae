"""A small client for a mill that serves: `async with Client("http://127.0.0.1:8080") as mill`."""

from feedmill.client.client import Client, RawBytes

__all__ = ["Client", "RawBytes"]
