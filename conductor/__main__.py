"""`python -m conductor`: see `conductor.commands.line`."""

import io
import sys

from conductor.commands.line import main

if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal cannot show, as half a surrogate pair, is printed as its escape.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
