"""`python -m conductor`: see `conductor.commands.line`."""

import io
import os
import signal
import sys


def _open_streams() -> None:
    """Have no file of ours, as the store, take the number of a stream that whoever started us had closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Opened files get the lowest free number.
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # What a terminal cannot show, as half a surrogate pair, is printed as its escape.
            stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until the command begins there is nothing to keep; loading it takes a moment.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from conductor.commands.line import main

    _open_streams()
    sys.exit(main())
