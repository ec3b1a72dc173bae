"""`python -m feedmill`: the command line."""
# Tested in tests/integration/interfaces/cli/test_main.py

from feedmill.interfaces.cli.main import main

if __name__ == "__main__":
    main()
