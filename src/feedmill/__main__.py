"""`python -m feedmill`: the command line."""

from feedmill.interfaces.cli.main import main

if __name__ == "__main__":
    main()
