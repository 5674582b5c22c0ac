"""`fake-openai`: a simulated OpenAI endpoint, for demonstrations and tests."""

from __future__ import annotations

import argparse
import json
import math
import os
from typing import Any

from conductor.commands.settings import host_name, port_number
from conductor.fake_openai.app import MODELS, FakeOpenAI
from conductor.fake_openai.faults import FAULTS
from conductor.fake_openai.server import FakeServer

_KEY = "CONDUCTOR_FAKE_KEY"


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "fake-openai",
        parents=parents,
        help="start a simulated OpenAI endpoint",
        description="Start an OpenAI endpoint that answers in made-up words and misbehaves on command.",
        epilog=_epilog(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=port_number, default=8010, help="0 takes any free one")
    parser.add_argument("--host", type=host_name, default="127.0.0.1")
    parser.add_argument(
        "--model", action="append", default=[], metavar="NAME", help="answer to these names only; repeatable"
    )
    parser.add_argument("--tokens-per-second", type=_pace, metavar="N", help="at once where it is not given")
    parser.set_defaults(command=_fake_openai)


def _fake_openai(options: argparse.Namespace) -> int:
    """Serve until stopped, which is how this command ends."""
    key = os.environ.get(_KEY) or None
    fake = FakeOpenAI(models=options.model, tokens_per_second=options.tokens_per_second, key=key)
    server = FakeServer(fake, host=options.host, port=options.port)
    models = options.model or list(MODELS)
    if options.json:
        print(json.dumps({"base_url": server.base_url, "models": models, "key": key is not None}), flush=True)
    else:
        needed = f"the key in {_KEY}" if key else "no key"
        print(f"Simulated OpenAI endpoint at {server.base_url}, with {needed}. Ctrl+C ends it.")
        print(f"Models: {', '.join(models)}; misbehaviour: fault:NAME (see --help).", flush=True)
    try:
        server.run()
    except KeyboardInterrupt:
        return 0
    return 0


def _epilog() -> str:
    width = max(map(len, FAULTS))
    lines = [f"  {fault.name:{width}}  {fault.says}" for fault in FAULTS.values()]
    notes = (
        f"With {_KEY} in the environment, requests must send that key.",
        "Models named reasoning-* reason aloud. Misbehaviour is chosen by the model fault:NAME, several",
        "as fault:NAME+NAME, a value as fault:NAME=VALUE, or beside any model by the body parameter",
        '"fault", a name or a list of names:',
    )
    return "\n".join((*notes, *lines))


def _pace(text: str) -> float:
    try:
        pace = float(text)
    except ValueError:
        pace = math.nan
    if not 0 < pace < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return pace
