"""What all contracts share."""

from tests.support.migrated_files import migrated_files  # noqa: F401 - used by every test
