"""From an address and an environment to an object store; nothing is asked of anybody."""

from pathlib import Path

import pytest
from obstore.store import AzureStore, GCSStore, LocalStore, S3Store

from feedmill.adapters.blobs.bucket.address import _client, _retry, open_object_store
from feedmill.config import BlobsConfig
from feedmill.errors import ConfigError


def test_s3_takes_bucket_prefix_and_a_checksum_of_every_put() -> None:
    store = open_object_store("s3://bucket/some/prefix/", BlobsConfig(), {})

    assert isinstance(store, S3Store)
    assert store.prefix == "some/prefix"
    assert store.config["bucket"] == "bucket"
    assert store.config["checksum_algorithm"] == "SHA256"


def test_the_checksum_may_be_another_one() -> None:
    store = open_object_store("s3://bucket", BlobsConfig(), {"AWS_CHECKSUM_ALGORITHM": "crc64nvme"})

    assert isinstance(store, S3Store)
    assert "checksum_algorithm" not in store.config  # the client reads it where we did not


def test_google_and_azure_are_known_by_their_schemes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")

    google = open_object_store("gs://bucket/prefix", BlobsConfig(), {})
    azure = open_object_store("az://container/prefix", BlobsConfig(), {})

    assert isinstance(google, GCSStore)
    assert (google.prefix, google.config["bucket"]) == ("prefix", "bucket")
    assert isinstance(azure, AzureStore)
    assert (azure.prefix, azure.config["container_name"]) == ("prefix", "container")


def test_a_folder_is_made_when_it_is_not_there(tmp_path: Path) -> None:
    store = open_object_store(f"file://{tmp_path}/deep/er", BlobsConfig(), {})

    assert isinstance(store, LocalStore)
    assert (tmp_path / "deep" / "er").is_dir()


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("bucket/prefix", id="no scheme"),
        pytest.param("", id="nothing"),
        pytest.param("https://bucket.example/", id="another scheme"),
        pytest.param("memory:///", id="one that forgets"),
        pytest.param("s3:///prefix", id="no bucket"),
        pytest.param("s3://", id="nothing but a scheme"),
    ],
)
def test_an_address_that_will_not_do_is_refused_with_what_would(address: str) -> None:
    with pytest.raises(ConfigError, match=r"\[blobs\] url"):
        open_object_store(address, BlobsConfig(), {})


@pytest.mark.parametrize(
    "address",
    [
        "s3://AKIA:sesame@bucket/prefix",
        "s3://sesame@bucket/prefix",
        "az://container/prefix?sig=sesame",
    ],
)
def test_credentials_in_an_address_are_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ConfigError, match="variables") as caught:
        open_object_store(address, BlobsConfig(), {})

    assert "sesame" not in str(caught.value)


def test_half_of_the_credentials_is_refused_with_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sesame")

    with pytest.raises(ConfigError, match=r"s3://bucket.*MissingAccessKeyId") as caught:
        open_object_store("s3://bucket/prefix", BlobsConfig(), {})

    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ({}, False),
        ({"AWS_ENDPOINT_URL": "https://s3.example"}, False),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:8333"}, True),
        ({"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:8333"}, True),
        ({"AWS_ALLOW_HTTP": "true"}, True),
        ({"AWS_ALLOW_HTTP": "false"}, False),
    ],
)
def test_plain_http_is_spoken_only_where_it_was_configured(
    environment: dict[str, str], allowed: bool
) -> None:
    assert _client(BlobsConfig(), environment)["allow_http"] is allowed


def test_the_settings_say_how_patient_the_client_is() -> None:
    config = BlobsConfig(timeout_ms=2_000, connect_timeout_ms=300, retry_sec=7)

    client, retry = _client(config, {}), _retry(config)

    assert str(client["timeout"]) == "0:00:02"
    assert str(client["connect_timeout"]) == "0:00:00.300000"
    assert retry["retry_timeout"].total_seconds() == 7


def test_secrets_may_stand_in_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("key\n")
    (tmp_path / "secret").write_text("sesame\n")
    environment = {
        "AWS_ACCESS_KEY_ID_FILE": str(tmp_path / "key"),
        "AWS_SECRET_ACCESS_KEY_FILE": str(tmp_path / "secret"),
    }

    store = open_object_store("s3://bucket", BlobsConfig(), environment)

    assert isinstance(store, S3Store)
    assert store.config["access_key_id"] == "key"
    assert store.config["secret_access_key"] == "sesame"


def test_a_file_of_a_secret_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = {"AWS_SECRET_ACCESS_KEY_FILE": str(tmp_path / "missing")}

    with pytest.raises(ConfigError, match="missing cannot be read"):
        open_object_store("s3://bucket", BlobsConfig(), missing)
