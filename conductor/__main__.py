"""`python -m conductor`: see `conductor.commands.line`."""

import sys

from conductor.commands.line import main

if __name__ == "__main__":
    sys.exit(main())
