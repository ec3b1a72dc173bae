"""E-mail addresses of authors can be hashed or removed."""

from feedmill.model.entry import Author
from feedmill.normalise.people import redact_emails

JANE = Author(name="Jane", email="Jane@example.com")
BARE = Author(email="bare@example.com")
NAMED = Author(name="Tom")


def test_addresses_are_kept_hashed_or_removed() -> None:
    authors = (JANE, BARE, NAMED)

    hashed = redact_emails(authors, "hash")

    assert redact_emails(authors, "keep") is authors
    assert redact_emails(authors, "remove") == (Author(name="Jane"), NAMED)
    assert [author.name for author in hashed] == ["Jane", None, "Tom"]
    assert hashed[0].email is not None
    assert hashed[0].email.startswith("sha256:")
    assert hashed[0].email != hashed[1].email
    assert "example" not in f"{hashed}"
