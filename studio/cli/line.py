"""The command line: which commands there are, their exit codes and their errors.

Exit codes: 0 done, 1 the run, plan or file failed, 2 the arguments are wrong, 130 interrupted. Errors
go to stderr as one sentence; `--debug` adds the traceback. Knows no command's work.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from errno import EDQUOT, EFBIG, ENOSPC
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from conductor.errors import ConductorError
from conductor.own_settings import command_name
from studio.cli.options import DEBUG, LARGEST
from studio.cli.output.terminal import (
    be_quiet,
    name_next,
    print_by_line,
    print_fault,
    print_lines,
    print_next,
    print_remark,
    stream_text,
)
from studio.gc_tuning import resume
from studio.version import own_version

_COMMANDS: Mapping[str, tuple[str, str]] = {
    "plan": ("workflow.plan", "Write a workflow for a query."),
    "run": ("workflow.run", "Answer a query, or run a workflow file or a session."),
    "edit": ("workflow.edit", "Edit a session's workflow, or one step, in $VISUAL or $EDITOR."),
    "set": (
        "workflow.set_step",
        "Change a step of a session's workflow, without an editor.",
    ),
    "compare": ("workflow.compare", "Compare two runs, or two revisions of a session."),
    "watch": ("sessions.watch", "Follow a run of another process, and print its answer."),
    "open": ("serving.open_page", "Open a session's page in a browser."),
    "find-step": ("workflow.find_step", "Find the step that spoiled a session's answer."),
    "parse": ("workflow.parse", "Read a Conductor's completion."),
    "export": ("workflow.export", "Write a session's workflow as JSON, or all corrections as JSON Lines."),
    "report": ("workflow.report", "Write a run as one HTML file, which replays it without the app."),
    "sessions": ("sessions.session_commands", "List, search, show and change sessions."),
    "backup": ("backup", "Copy the whole store to one file, while others use it."),
    "restore": ("restore", "Put a copy made by `backup` in the store's place."),
    "usage": ("usage", "Sum up what requests have used."),
    "tokens": ("tokens", "Make, list and revoke tokens of the API."),
    "people": ("people", "List what people have used, and limit it."),
    "agents": ("agents", "Print how coding agents and SDKs use this server, with a token."),
    "serve": ("serving.serve", "Start the app, or the API alone."),
    "gallery": ("workflow.gallery", "List workflows to start from, and run one."),
    "mcp": ("serving.mcp", "Serve agents by the Model Context Protocol."),
    "evaluate": ("evaluation.commands", "Compare planners on questions with known answers."),
    "pool": ("pool", "Find models on this machine and by keys, and use them."),
    "plugins": ("plugins", "List what installed packages add."),
    "info": ("info", "Show which pool, store and variables are in force here, and why."),
    "doctor": ("doctor", "Try every worker, the Conductor and every server of tools."),
    "learn": (
        "learning.training_commands",
        "Learn a planner for your pool, or train a Conductor by reinforcement.",
    ),
    "vllm": ("serving.vllm", "Serve a Conductor with vLLM."),
}
"""The commands, each the `app` of a module of this package, with the sentence that lists it."""

_PANELS: Mapping[str, str] = {
    "Plan, run and change": "plan run edit set gallery parse",
    "Look": "compare watch open report find-step sessions usage export",
    "Compare and learn": "evaluate learn",
    "Serve": "serve tokens people agents mcp vllm",
    "Set up": "pool plugins info doctor backup restore",
}
"""The commands by what they are for, as help on a terminal groups them."""

_NO_ROOM = (ENOSPC, EDQUOT, EFBIG)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the process's exit code."""
    # Only the installed command has a name that a shell can complete.
    app = typer.Typer(
        cls=_Commands,
        callback=_conductor,
        add_completion=command_name() == "conductor",
        context_settings={"help_option_names": ["--help", "-h"]},
        pretty_exceptions_enable=False,
        # What is piped or written to a file is plain and not cut to any width.
        rich_markup_mode="rich" if sys.stdout.isatty() and sys.stderr.isatty() else None,
    )
    try:
        get_command(app).main(arguments, prog_name=command_name())
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def _show_version(is_set: bool) -> None:
    if is_set:
        print_lines(f"Conductor Studio {own_version()}, Python {platform.python_version()}")
        raise typer.Exit


def _conductor(
    _version: Annotated[
        bool, typer.Option("--version", "-V", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Plan, run and edit workflows that a Conductor writes."""
    # From here on an interrupt ends the work in order; see `conductor.__main__`.
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@cache
def _command(name: str, markup: Any) -> Any:
    """The command of that name; made once in a process, which takes longer than most commands."""
    app: typer.Typer = import_module(f"studio.cli.{_COMMANDS[name][0]}").app
    app.rich_markup_mode = markup
    command = get_command(app)
    resume()
    return command


def _complete_help(command: Any, path: str, ctx: Any) -> None:
    """Let the help of the command, and of those below it, end with its examples and have its ranges in
    words. Such a command is for its help alone.
    """
    for name, below in getattr(command, "commands", {}).items():
        _complete_help(below, f"{path} {name}", ctx)
    for each in (*command.params, command.get_help_option(ctx)):
        if words := _range_words(each):
            each.help = f"{each.help} ({words})"
        each.min = each.max = None
        _hide_type(each)
    if examples := examples_by_command().get(path):
        command.epilog = "\n\n".join(["Examples:", *(f"{command_name()} {each}" for each in examples)])


def _hide_type(parameter: Any) -> None:
    """A flag has none, and the help of an argument has what is to be known of its own."""
    if parameter.param_type_name == "argument" or parameter.is_flag:
        parameter.display_type_rich = lambda **_: ""


def _range_words(parameter: Any) -> str:
    """Between which numbers a parameter is; "" where that is any number from 0 or 1 on."""
    least, most = getattr(parameter, "min", None), getattr(parameter, "max", None)
    if most is None or most == LARGEST:
        return f"{least:g} or more" if least not in (None, 0, 1) else ""
    return f"{least:g} to {most:g}"


@cache
def examples_by_command() -> Mapping[str, Sequence[str]]:
    """What examples.toml has."""
    import tomllib  # noqa: PLC0415 - for help alone

    return tomllib.loads(Path(__file__).with_name("examples.toml").read_text(encoding="utf-8"))


class _Commands(TyperGroup):
    """The commands by name; the module of one is loaded when it is used, so that the others cost nothing."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        panels = {name: panel for panel, names in _PANELS.items() for name in names.split()}
        for name, (_, sentence) in _COMMANDS.items():
            self.add_command(
                TyperCommand(
                    name,
                    help=sentence,
                    rich_markup_mode=self.rich_markup_mode,
                    rich_help_panel=panels.get(name),
                )
            )

    def get_params(self, ctx: Any) -> Any:
        params = super().get_params(ctx)
        for each in params:
            _hide_type(each)
        return params

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, listed, rest = super().resolve_command(ctx, args)
        if listed is None:
            return name, None, rest
        command = _command(name or "", self.rich_markup_mode)
        if not {"--help", "-h"}.isdisjoint(rest):
            _complete_help(command, name or "", ctx)
        return name, command, rest

    def invoke(self, ctx: Any) -> NoReturn:
        """Run the command and end with its exit code; an error that a person can act on is one sentence."""
        name_next(None)
        be_quiet(False)
        print_by_line(False)
        try:
            code: int = super().invoke(ctx)
            # Here rather than when Python ends, so that a reader who has gone is noticed.
            sys.stdout.flush()
        except typer.BadParameter as error:
            # What pydantic puts before the messages of a choice.
            error.message = stream_text(error.message.removeprefix("Value error, "), sys.stderr)
            raise
        except ConductorError as error:
            if ctx.meta.get(DEBUG):
                traceback.print_exc()
            print_fault(str(error))
            code = 1
        except KeyboardInterrupt:
            print_remark("stopped; what was finished is kept.")
            code = 130
        except BrokenPipeError:
            # The reader of our output has gone; no message can reach it.
            sys.stderr.close()
            code = 1
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            if ctx.meta.get(DEBUG):
                traceback.print_exc()
            print_fault(f"the output cannot be written: {error.strerror}. What was finished is kept.")
            _write_no_more()
            code = 1
        if not sys.stderr.closed:
            print_next()
        raise typer.Exit(code)


def _write_no_more() -> None:
    """Let Python end without a second attempt to write what found no room."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
