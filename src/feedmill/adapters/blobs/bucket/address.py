"""Opens an object store by its URL: provider, credentials and timeouts.

    s3://bucket/prefix       AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL, …
    gs://bucket/prefix       GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT, …
    az://container/prefix    AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY, …
    file:///folder           a mounted file system; no fsync, so a power cut may take the last puts

Credentials come from the provider's usual variables, or from the machine's role there; never from
the address, which is shown and logged.
"""

import os
import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ada_url import URL
from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, LocalStore, S3Store

from feedmill.config import BlobsConfig
from feedmill.errors import ConfigError

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, RetryConfig

_PROVIDERS: Final = {"s3:": "AWS_", "gs:": "GOOGLE_", "az:": "AZURE_"}
_SECRETS: Final = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZURE_STORAGE_ACCOUNT_KEY",
)
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AZURE_ENDPOINT")
_YES: Final = ("1", "true", "yes")
_CHECKSUM: Final = "SHA256"
_MISSING: Final = re.compile(r"\bMissing[A-Z]\w+")
_FIRST_WAIT: Final = timedelta(milliseconds=100)
_LONGEST_WAIT: Final = timedelta(seconds=2)
_RETRIES: Final = 1000  # the time decides, not the number


def open_object_store(
    address: str, config: BlobsConfig, environment: Mapping[str, str] = os.environ
) -> "ObjectStore":
    """The object store at an address; nothing is asked of it yet. ConfigError says what is wrong."""
    url = _checked(address)
    if url.protocol == "file:":
        return LocalStore.from_url(url.href, mkdir=True)
    options: dict[str, Any] = {
        "client_options": _client(config, environment),
        "retry_config": _retry(config),
        "config": _given(_PROVIDERS[url.protocol], environment),
    }
    try:
        match url.protocol:
            case "s3:":
                if "AWS_CHECKSUM_ALGORITHM" not in environment:
                    options["config"]["checksum_algorithm"] = _CHECKSUM
                return S3Store.from_url(url.href, **options)
            case "gs:":
                return GCSStore.from_url(url.href, **options)
            case _:
                return AzureStore.from_url(url.href, **options)
    except (BaseError, ValueError) as problem:
        # Not all of its words: they may quote a variable.
        missing = _MISSING.search(str(problem))
        named = f" ({missing[0]})" if missing else ""
        mistake = f"[blobs] url: {address} cannot be used with the variables of its provider{named}"
        raise ConfigError([mistake]) from problem


def _checked(address: str) -> URL:
    try:
        url = URL(address)
    except ValueError:
        url = None
    if url is not None and (url.username or url.password or url.search):
        mistake = (
            "[blobs] url holds credentials or parameters; give them in the variables of the "
            "provider, such as AWS_SECRET_ACCESS_KEY"
        )
        raise ConfigError([mistake])
    if url is None or url.protocol not in (*_PROVIDERS, "file:"):
        mistake = (
            f"[blobs] url: {address!r} is not supported: expected s3://bucket/prefix, "
            "gs://bucket/prefix, az://container/prefix or file:///folder"
        )
        raise ConfigError([mistake])
    if url.protocol != "file:" and not url.hostname:
        mistake = f"[blobs] url: {address!r} names no bucket"
        raise ConfigError([mistake])
    return url


def _client(config: BlobsConfig, environment: Mapping[str, str]) -> "ClientConfig":
    plain = any(environment.get(name, "").startswith("http://") for name in _ENDPOINTS)
    allowed = environment.get("AWS_ALLOW_HTTP", "").lower() in _YES
    return {
        "allow_http": plain or allowed,  # without either of them, https or nothing
        "connect_timeout": timedelta(milliseconds=config.connect_timeout_ms),
        "timeout": timedelta(milliseconds=config.timeout_ms),
    }


def _retry(config: BlobsConfig) -> "RetryConfig":
    return {
        "max_retries": _RETRIES,
        "retry_timeout": timedelta(seconds=config.retry_sec),
        "backoff": {"init_backoff": _FIRST_WAIT, "max_backoff": _LONGEST_WAIT, "base": 2},
    }


def _given(prefix: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """What stands in files that variables name; all other variables are read by the client."""
    named = {name: environment.get(f"{name}_FILE") for name in _SECRETS if name.startswith(prefix)}
    try:
        return {
            name.lower(): Path(file).read_text("utf-8").strip()
            for name, file in named.items()
            if file
        }
    except OSError as problem:
        mistake = (
            f"{problem.filename} cannot be read ({problem.strerror}); a *_FILE variable names it"
        )
        raise ConfigError([mistake]) from problem
