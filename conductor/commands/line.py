"""The command line's arguments, its exit codes and its errors.

Exit codes: 0 done, 1 the run, plan or file failed, 2 the arguments are wrong, 130 interrupted. Errors
go to stderr as one sentence; `--debug` adds the traceback. Knows no command's work.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from errno import EDQUOT, EFBIG, ENOSPC
from importlib import import_module
from pathlib import Path
from typing import Literal

from conductor.commands.terminal import print_remark
from conductor.errors import ConductorError

_Options = Literal["shared", "pooled", "stored", "configured"]

_COMMANDS: Mapping[str, _Options] = {
    "plan": "configured",
    "run": "configured",
    "parse": "shared",
    "export": "configured",
    "report": "stored",
    "sessions": "stored",
    "tokens": "stored",
    "serve": "configured",
    "doctor": "pooled",
    "vllm": "shared",
    "fake-openai": "shared",
}
"""The commands, each in the module of its name, with the options that it has in common with others."""


_NO_ROOM = (ENOSPC, EDQUOT, EFBIG)


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; the process's exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    options = _parser(given[:1]).parse_args(given)
    try:
        _heed_interrupts()
        code: int = options.command(options)
        # Here rather than when Python ends, so that a reader who has gone is noticed.
        sys.stdout.flush()
    except ConductorError as error:
        if options.debug:
            traceback.print_exc()
        print_remark(str(error))
        return 1
    except KeyboardInterrupt:
        print("conductor: stopped; what was finished is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 1
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        if options.debug:
            traceback.print_exc()
        print(
            f"conductor: the output cannot be written: {error.strerror}. What was finished is kept.",
            file=sys.stderr,
        )
        _write_no_more()
        return 1
    return code


def _heed_interrupts() -> None:
    """From here on an interrupt ends the work in order; see `conductor.__main__`."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _write_no_more() -> None:
    """Let Python end without trying once more to write what found no room."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser(first: Sequence[str]) -> argparse.ArgumentParser:
    """Knows the command that the `first` argument names, else all of them: none is loaded for nothing."""
    parser = argparse.ArgumentParser(
        prog="python -m conductor",
        description="Plan, run and edit workflows that a Conductor writes.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    parents = _common()
    for name in [name for name in first if name in _COMMANDS] or _COMMANDS:
        module = import_module(f"conductor.commands.{name.replace('-', '_')}")
        module.add_to(commands, parents[_COMMANDS[name]])
    return parser


def _url(text: str) -> str:
    """An argument that is a store's URL; an empty one, as of an unset variable, would be the default."""
    if not text.strip():
        raise argparse.ArgumentTypeError("name a store, like sqlite:///data/conductor.db; it is empty")
    return text


def _common() -> Mapping[_Options, list[argparse.ArgumentParser]]:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print one JSON object")
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")
    pooled = argparse.ArgumentParser(add_help=False)
    pooled.add_argument("--pool", type=Path, metavar="FILE", help="pool file (TOML)")
    stored = argparse.ArgumentParser(add_help=False)
    stored.add_argument("--database", type=_url, metavar="URL", help="where sessions are kept")
    return {
        "shared": [shared],
        "pooled": [shared, pooled],
        "stored": [shared, stored],
        "configured": [shared, pooled, stored],
    }
