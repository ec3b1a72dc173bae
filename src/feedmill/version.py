"""The one place that names the release."""
# Tested in tests/integration/interfaces/cli/test_main.py

__version__ = "0.1.0"
