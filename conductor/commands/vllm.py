"""`vllm --model NAME`, `vllm --tiny`: serve a Conductor, say when it is ready and what to paste where."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conductor.commands.settings import positive
from conductor.errors import ServeError
from conductor.vllm.installed import Installed, installed, script_environment
from conductor.vllm.server import Server
from conductor.vllm.serving import Serving, extra_flags, open_to_others
from conductor.vllm.tiny import tiny_model
from conductor.workers.secret import find_secret

_KEYS = ("CONDUCTOR_KEY", "VLLM_API_KEY")
_NEWS_SECONDS = 2.0
_STILL_SECONDS = 15.0
_WIDTH = 110
_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "vllm",
        parents=parents,
        help="serve a Conductor with vLLM",
        epilog="Flags after -- go to vLLM as they are and win over the defaults. "
        "vLLM guards only /v1 with the key: keep the server on this machine or in a trusted network.",
    )
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--model", metavar="NAME", help="a model's name on the hub, or its folder")
    model.add_argument(
        "--tiny",
        nargs="?",
        const="",
        metavar="DIR",
        help="a random tiny Qwen2 instead, to try the path without weights or GPU; kept in DIR if given",
    )
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=_port, default=8000)
    parser.add_argument("--served-name", default="conductor", metavar="NAME")
    parser.add_argument("--max-model-len", type=positive, metavar="N", help="tokens a call may hold")
    parser.add_argument(
        "--api-key-env",
        type=_variable,
        metavar="NAME",
        help=f"variable that holds the API key; default {_KEYS[0]}",
    )
    parser.add_argument(
        "--python", default=sys.executable, metavar="PATH", help="the Python that has vLLM; default this one"
    )
    parser.add_argument("--verbose", action="store_true", help="show everything the server says")
    parser.add_argument("extra", nargs="*", metavar="-- FLAG", help="more flags for vLLM")
    parser.set_defaults(command=_vllm, usage=parser.error)


def _vllm(options: argparse.Namespace) -> int:
    """Serve until interrupted; 0 when that came after the server was ready, else 130."""
    if options.extra and not options.extra[0].startswith("-"):
        options.usage(f"unknown argument {options.extra[0]!r}; flags for vLLM come after --")
    extra = extra_flags(options.extra)
    key_env = _key_variable(options.api_key_env)
    _require_key(options.host, key_env)
    vllm = installed(options.python)
    with _ended_by_signals(), _model(options) as model:
        serving = Serving(
            model=model,
            tiny=options.tiny is not None,
            host=options.host,
            port=options.port,
            served_name=options.served_name,
            max_model_len=options.max_model_len,
            key_env=key_env,
            extra=extra,
        )
        return _serve(options, serving, vllm)


def _serve(options: argparse.Namespace, serving: Serving, vllm: Installed) -> int:
    key = find_secret(serving.key_env) if serving.key_env else None
    ready = False
    server = Server(
        serving.command(vllm),
        environment=serving.environment(vllm, inherited=script_environment(), key=key),
        url=serving.url,
        key=key,
        listen=_say if options.verbose else None,
    )
    _say(f"starting {_described(vllm)} on {serving.url}")
    try:
        with server:
            progress = _Progress(quiet=options.verbose)
            context = server.wait_until_ready(serving.served_name, said=progress)
            _say(f"[{progress.seconds:4.0f} s] ready; the lines for pool.toml follow; Ctrl+C ends the server")
            ready = True
            _announce(options, serving, context=context)
            server.join()
    except KeyboardInterrupt:
        _say("stopped")
    return 0 if ready else 130


@contextmanager
def _model(options: argparse.Namespace) -> Iterator[str]:
    """The model to serve, built before where it is the tiny one."""
    if options.tiny is None:
        yield options.model
        return
    _say("building a tiny Qwen2 of random weights; its words will make no sense")
    folder = Path(options.tiny).resolve() if options.tiny else None
    with tiny_model(options.python, folder) as built:
        yield str(built)


def _key_variable(named: str | None) -> str | None:
    """The variable that holds the API key, None where there is no key."""
    if named is None:
        return next((name for name in _KEYS if find_secret(name)), None)
    if find_secret(named) is None:
        raise ServeError(f"{named} is not set; put the API key in it, or leave --api-key-env out.")
    return named


def _port(text: str) -> int:
    number = positive(text)
    if number > 65_535:
        raise argparse.ArgumentTypeError(f"{text} is no port; the highest is 65535")
    return number


def _variable(text: str) -> str:
    """An argument that is the name of a variable; what is none may be a key, and is not repeated."""
    if not (text.isascii() and text.isidentifier()):
        raise argparse.ArgumentTypeError(f"write the name of a variable, like {_KEYS[0]}, not the key itself")
    return text


def _require_key(host: str, key_env: str | None) -> None:
    """Say how well the server is guarded. Raises `ServeError` where others could use it without a key."""
    if key_env is None:
        if open_to_others(host):
            raise ServeError(
                f"{host} can be reached by other machines, and there is no API key; "
                f"set {_KEYS[0]}, or leave --host out."
            )
        _say(f"no API key, as {_KEYS[0]} is not set: every program of this machine may use the server")
    elif open_to_others(host):
        _say("vLLM guards only /v1 with the key; let nobody you do not trust reach the port")


def _announce(options: argparse.Namespace, serving: Serving, *, context: int | None) -> None:
    lines = serving.pool_lines(context=context)
    if options.json:
        shape = {
            "base_url": f"{serving.url}/v1",
            "model": serving.served_name,
            "api_key_env": serving.key_env,
            "context": context,
            "pool": lines,
        }
        print(json.dumps(shape), flush=True)
    else:
        print(lines, end="", flush=True)


def _described(vllm: Installed) -> str:
    return f"vLLM {vllm.version or 'of unknown version'}" + (" on the CPU" if vllm.cpu else "")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class _Progress:
    """Tells how the start goes: what the server says, as fast as one can read, and that it still lives."""

    def __init__(self, *, quiet: bool) -> None:
        self.seconds = 0.0
        self._quiet = quiet
        self._told = ""
        self._told_at = -_NEWS_SECONDS

    def __call__(self, seconds: float, line: str) -> None:
        self.seconds = seconds
        news = line != self._told and seconds - self._told_at >= _NEWS_SECONDS
        if self._quiet or not (news or seconds - self._told_at >= _STILL_SECONDS):
            return
        self._told, self._told_at = line, seconds
        _say(f"[{seconds:4.0f} s] {line[:_WIDTH] or 'waiting'}")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Whoever ends or leaves us ends the server too: it must not hold a GPU for nobody."""
    # `nohup` means to outlive the terminal.
    deaf = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else set()
    previous = {number: signal.signal(number, signal.default_int_handler) for number in _ENDING - deaf}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
