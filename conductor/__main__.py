"""`python -m conductor`, and the installed command `conductor`: see `studio.cli.line`."""

import io
import os
import signal
import sys

from conductor.loading import hide, load_lightly
from conductor.own_settings import take
from conductor.studio_path import find_studio


def _open_streams() -> None:
    """Open each standard stream that is closed, so that no file of ours, as the store, takes its number."""
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


def run() -> int:
    """Run the command that the arguments name; returns the process's exit code."""
    # Exports, reports and runs of training are its user's alone; they may share them.
    hide()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until the command begins there is nothing to lose; loading it takes a moment.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    take()
    load_lightly()
    find_studio()
    from studio.cli.line import main  # noqa: PLC0415 - loaded once an interrupt ends the process

    _open_streams()
    return main()


if __name__ == "__main__":
    sys.exit(run())
