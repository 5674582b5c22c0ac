"""`vllm --model NAME`: serve a Conductor with vLLM, and print the lines of a pool file that use it."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer
from typer import Argument, BadParameter

from conductor.errors import ServeError
from conductor.vllm.server import Server
from conductor.vllm.serving import (
    CARDS,
    Installed,
    Serving,
    extra_flags,
    installed_vllm,
    open_to_others,
    script_environment,
)
from conductor.workers.keys.secret import find_secret
from conductor.workers.wording.checkout import read_wording
from studio.cli.options import App, PromptFrom, Shared, count, option
from studio.cli.output.terminal import print_lines

_KEYS = ("CONDUCTOR_KEY", "VLLM_API_KEY")
_KEY_HELP = f"The variable that holds the API key; default: {_KEYS[0]}."
_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

_CARD_HELP = f"The card's memory, {' or '.join(map(str, CARDS))}: defaults for a 7B model in 16 bits."
_THINKS_HELP = "For a model that thinks before it answers: how, such as qwen3 or deepseek_r1."
_TOOLS_HELP = "For a worker that calls tools: how, such as hermes (Qwen) or llama3_json."

app = App()


def _variable(text: str) -> str:
    """The name of a variable; what is none may be a key, and is not repeated."""
    if not (text.isascii() and text.isidentifier()):
        raise BadParameter(f"write the name of a variable, like {_KEYS[0]}, not the key itself")
    return text


def _card(text: str) -> int:
    """One of the cards that have defaults."""
    cards = {str(memory): memory for memory in CARDS}
    if text not in cards:
        raise BadParameter(f"there are defaults for {' and '.join(cards)} GB; leave it out for another card")
    return cards[text]


def _parser(text: str) -> str:
    """A name, which vLLM looks up in its list."""
    if re.fullmatch(r"\w[\w.-]*", text) is None:
        raise BadParameter("write the name of one of vLLM's parsers, like qwen3")
    return text


@app.command(
    epilog="Flags after -- go to vLLM as they are and win over the defaults. "
    "vLLM guards only /v1 with the key: keep the server on this machine or in a trusted network."
)
def vllm(
    ctx: typer.Context,
    *,
    extra: Annotated[list[str] | None, Argument(metavar="-- FLAG", help="More flags for vLLM.")] = None,
    model: Annotated[str, option("A model's name on the hub, or its folder.", "NAME")],
    host: Annotated[str, option("The address to listen at.", "HOST")] = "127.0.0.1",
    port: Annotated[int, count("The port to listen at.", "PORT", most=65535)] = 8000,
    served_name: Annotated[str, option("The model's name at the server.", "NAME")] = "conductor",
    max_model_len: Annotated[int | None, count("Tokens that a call may hold.")] = None,
    gpu: Annotated[int | None, option(_CARD_HELP, "GB", _card)] = None,
    reasoning_parser: Annotated[str | None, option(_THINKS_HELP, "NAME", _parser)] = None,
    tool_call_parser: Annotated[str | None, option(_TOOLS_HELP, "NAME", _parser)] = None,
    api_key_env: Annotated[str | None, option(_KEY_HELP, "NAME", _variable)] = None,
    prompt: Annotated[
        Literal["ours", "research"],
        option("The prompt of the printed lines: the one it was trained on."),
    ] = "ours",
    prompt_from: PromptFrom = None,
    python: Annotated[str, option("The Python that has vLLM.", "PATH")] = sys.executable,
    options: Shared,
) -> int:
    """Serve a Conductor with vLLM.

    Serves until it is interrupted; the exit code is 0 when that came after the server was ready, else 130.
    """
    if extra and not extra[0].startswith("-"):
        ctx.fail(f"unknown argument {extra[0]!r}; flags for vLLM come after --")
    if prompt_from is not None:
        if prompt != "research":
            ctx.fail("--prompt-from needs --prompt research")
        _ = read_wording(Path(prompt_from))
    flags = extra_flags(extra or ())
    key_env = _key_variable(api_key_env)
    _require_key(host, key_env)
    installation = installed_vllm(python)
    serving = Serving(
        model=model,
        host=host,
        port=port,
        served_name=served_name,
        max_model_len=max_model_len,
        card=gpu,
        reasoning_parser=reasoning_parser,
        tool_call_parser=tool_call_parser,
        key_env=key_env,
        prompt=prompt,
        prompt_from=prompt_from,
        extra=flags,
    )
    with _ended_by_signals():
        return _serve(serving, installation, options)


def _serve(serving: Serving, vllm: Installed, options: Shared) -> int:
    key = find_secret(serving.key_env) if serving.key_env else None
    server = Server(
        serving.command(vllm),
        environment=serving.environment(vllm, inherited=script_environment(), key=key),
        url=serving.url,
        key=key,
        show=_show,
    )
    place = " on the CPU" if vllm.cpu else ""
    _show(f"starting vLLM {vllm.version or 'of unknown version'}{place} on {serving.url}")
    ready = False
    try:
        with server:
            context = server.wait_until_ready(serving.served_name)
            ready = True
            _show("ready; the lines for pool.toml follow; Ctrl+C ends the server")
            lines = serving.pool_lines(context=context)
            shape = {
                "base_url": f"{serving.url}/v1",
                "model": serving.served_name,
                "api_key_env": serving.key_env,
                "context": context,
                "pool": lines,
            }
            options.show(shape, lines.removesuffix("\n"))
            server.join()
    except KeyboardInterrupt:
        _show("stopped")
    return 0 if ready else 130


def _key_variable(named: str | None) -> str | None:
    """The variable that holds the API key, or None."""
    if named is None:
        return next((name for name in _KEYS if find_secret(name)), None)
    if find_secret(named) is None:
        raise ServeError(f"{named} is not set; put the API key in it, or leave --api-key-env out.")
    return named


def _require_key(host: str, key_env: str | None) -> None:
    """Show how the server is guarded. Raises `ServeError` where others could use it without a key."""
    if key_env is None:
        if open_to_others(host):
            raise ServeError(
                f"{host} can be reached by other machines, and there is no API key; "
                f"set {_KEYS[0]}, or leave --host out."
            )
        _show(f"no API key, as {_KEYS[0]} is not set: every program of this machine may use the server")
    elif open_to_others(host):
        _show("vLLM guards only /v1 with the key; let only people you trust reach the port")


def _show(line: str) -> None:
    print_lines(line, stream=sys.stderr)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Every signal that ends this program ends the server, too: it must not hold a GPU any longer."""
    # `nohup` ignores SIGHUP so that a program outlives its terminal.
    ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else set()
    previous = {number: signal.signal(number, signal.default_int_handler) for number in _ENDING - ignored}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
