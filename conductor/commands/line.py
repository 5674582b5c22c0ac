"""The command line's arguments, its exit codes and its errors.

Exit codes: 0 done, 1 the run, plan or file failed, 2 the arguments are wrong, 130 interrupted. Errors
go to stderr as one sentence; `--debug` adds the traceback. Knows no command's work.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from conductor.commands import doctor, export, fake_openai, parse, plan, run, serve, vllm
from conductor.errors import ConductorError


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command; the process's exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.command(options)
    except ConductorError as error:
        if options.debug:
            traceback.print_exc()
        print(f"conductor: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("conductor: stopped; what was finished is kept.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody left to tell.
        sys.stderr.close()
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m conductor",
        description="Plan, run and edit workflows that a Conductor writes.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print one JSON object")
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")
    pooled = argparse.ArgumentParser(add_help=False)
    pooled.add_argument("--pool", type=Path, metavar="FILE", help="pool file (TOML)")
    configured = argparse.ArgumentParser(add_help=False, parents=[pooled])
    configured.add_argument("--database", metavar="URL", help="where sessions are kept")
    for command in (plan, run, parse, export, serve):
        command.add_to(commands, [shared] if command is parse else [shared, configured])
    doctor.add_to(commands, [shared, pooled])
    for command in (vllm, fake_openai):
        command.add_to(commands, [shared])
    return parser
