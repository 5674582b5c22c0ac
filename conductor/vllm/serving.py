"""Prepares vLLM to serve a model: its version, the command line, and the lines of a pool file."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal

import tomlkit

from conductor.errors import ServeError
from conductor.values.messages import Value

# -- the installed vLLM ------------------------------------------------------------------------------

_PROBE = Path(__file__).with_name("version_probe.py")
_OLDEST = (0, 12)
"""The first vLLM with `structured_outputs`; before it, a constraint would be ignored in silence."""


class Installed(Value):
    """A vLLM: the interpreter that has it, the module that is its server, whether it is a CPU build."""

    python: str
    server: str
    version: str | None
    cpu: bool


def installed_vllm(python: str) -> Installed:
    """The vLLM of this interpreter. Raises `ServeError` when there is none that we can use."""
    try:
        probe = subprocess.run(  # noqa: S603 - the interpreter that the user named, and our own file
            [python, str(_PROBE)], env=script_environment(), capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise ServeError(
            f"{python} cannot be run: {error.strerror}. Name the Python that has vLLM by --python."
        ) from error
    try:
        answer = json.loads(probe.stdout)
        server, version, cpu = answer["server"], answer["version"], answer["cpu"]
    except (ValueError, KeyError, TypeError) as error:
        lines = (probe.stderr or probe.stdout).strip().splitlines()
        why = lines[-1] if lines else f"exit code {probe.returncode}"
        raise ServeError(f"{python} does not answer as Python does: {why}") from error
    if server is None and version is not None:
        raise ServeError(
            f"vLLM {version} of {python} has no server module that we know; install another version."
        )
    if server is None:
        raise ServeError(
            f"vLLM is not installed for {python}; install it with: {python} -m pip install vllm - "
            "or name another environment's Python by --python."
        )
    numbers = re.match(r"(\d+)\.(\d+)", version or "")
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < _OLDEST:
        raise ServeError(
            f"vLLM {version} of {python} is too old to constrain a plan; "
            f"install {'.'.join(map(str, _OLDEST))} or newer: {python} -m pip install --upgrade vllm"
        )
    return Installed(python=python, server=server, version=version, cpu=cpu)


def script_environment() -> dict[str, str]:
    """Our environment for scripts and for vLLM, but that no folder of ours hides a module from them."""
    return {**os.environ, "PYTHONSAFEPATH": "1"}


# -- a server of it ----------------------------------------------------------------------------------

_OPTIONS = {flag: flag for flag in ("--model", "--host", "--port", "--max-model-len")}
_OPTIONS["--served-model-name"] = "--served-name"
"""vLLM's flags that have an option of their own here, because the pool lines need their values."""


class GraphicsCard(Value):
    """What a server of a 7B model in 16 bits is started with on a card: how many tokens a call may hold, how
    many calls are computed at once, and which part of the card's memory is the server's.

    Such a model takes 15 GB, and Qwen2.5-7B's keys and values 56 KiB a token (28 layers, 4 heads of 128, two
    bytes each). What is left of 24 GB holds some 80,000 tokens, of 80 GB about a million.
    """

    max_model_len: int
    max_num_seqs: int
    memory: float


CARDS: Mapping[int, GraphicsCard] = {
    24: GraphicsCard(max_model_len=16_384, max_num_seqs=32, memory=0.90),
    80: GraphicsCard(max_model_len=32_768, max_num_seqs=256, memory=0.92),
}
"""Cards by their memory in GB."""

TRAINED_TOKENS = 1024
"""The longest completion of the published training."""

_STRUCTURED = {"backend": "xgrammar", "disable_any_whitespace": True}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to


class Serving(Value):
    """The settings of one server.

    `key_env` names the variable that holds the API key, None for a server without one. `card` is the memory
    of the card in GB, one of `CARDS`; None leaves lengths and memory to vLLM. `reasoning_parser` and
    `tool_call_parser` are vLLM's names of how a model writes its thoughts and its calls of tools, None if
    it does neither. `extra` are vLLM flags that `extra_flags` accepts; they come last, so they win over ours.
    `prompt` and `prompt_from` are for the lines of the pool file.
    """

    model: str
    host: str = "127.0.0.1"
    port: int = 8000
    served_name: str = "conductor"
    max_model_len: int | None = None
    card: int | None = None
    reasoning_parser: str | None = None
    tool_call_parser: str | None = None
    key_env: str | None = None
    prompt: Literal["ours", "research"] = "ours"
    prompt_from: str | None = None
    extra: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Where the server is reached from this machine, without a path."""
        host = _EVERYWHERE.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def command(self, vllm: Installed) -> list[str]:
        """The command that starts the server; without the key, as every user can list processes."""
        command = [vllm.python, "-m", vllm.server]
        command += ["--model", self.model, "--served-model-name", self.served_name]
        command += ["--host", self.host, "--port", str(self.port), "--enable-prefix-caching"]
        command += ["--structured-outputs-config", json.dumps(_STRUCTURED, separators=(",", ":"))]
        # A model's own file may set sampling, such as Qwen's repetition penalty, for all who ask without one.
        command += ["--generation-config", "vllm"]
        card = None if self.card is None else CARDS[self.card]
        length = self.max_model_len or (card.max_model_len if card is not None else None)
        if length is not None:
            command += ["--max-model-len", str(length)]
        if card is not None:
            command += ["--max-num-seqs", str(card.max_num_seqs)]
            command += ["--gpu-memory-utilization", f"{card.memory:.2f}"]
        if self.reasoning_parser is not None:
            command += ["--reasoning-parser", self.reasoning_parser]
        if self.tool_call_parser is not None:
            command += ["--enable-auto-tool-choice", "--tool-call-parser", self.tool_call_parser]
        if vllm.cpu:
            command += ["--dtype", "float32", "--enforce-eager"]
        return [*command, *self.extra]

    def environment(
        self, vllm: Installed, *, inherited: Mapping[str, str], key: str | None
    ) -> dict[str, str]:
        """The server's variables: those inherited, the key under the name vLLM reads, and no telemetry."""
        environment = {
            **{name: value for name, value in inherited.items() if name != "VLLM_API_KEY"},
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_DISABLE_LOG_LOGO": "1",
            "PYTHONUNBUFFERED": "1",
        }
        if key is not None:
            environment["VLLM_API_KEY"] = key
        if vllm.cpu:
            # Without a size, a CPU build takes nearly all memory for its cache of keys and values.
            environment.setdefault("VLLM_CPU_KVCACHE_SPACE", "4")
        return environment

    def pool_lines(self, *, context: int | None) -> str:
        """The `[conductor]` and `[[worker]]` tables of a pool file that uses this server, as TOML.

        `context` is how many tokens a call may hold, None if the server does not report it.
        """
        shared: dict[str, Any] = {"base_url": f"{self.url}/v1", "model": self.served_name}
        if self.key_env is not None:
            shared["api_key_env"] = self.key_env
        planning: dict[str, Any] = {}
        if self.prompt == "research":
            planning = {"prompt_style": "research", "dialect": "binary", "max_tokens": TRAINED_TOKENS}
            if self.prompt_from is not None:
                planning["prompt_from"] = self.prompt_from
        name = PurePath(self.model).name or self.model
        worker = {"name": name, **shared, "strengths": "general questions"}
        if context is not None:
            worker["context"] = context
        return tomlkit.dumps({"conductor": {**shared, **planning}, "worker": [worker]})


def open_to_others(host: str) -> bool:
    """Whether other machines can reach a server that listens there."""
    return host not in _LOOPBACK


def extra_flags(words: Sequence[str]) -> tuple[str, ...]:
    """Flags that go to vLLM as they are.

    Raises `ServeError` for a flag that would show the key to others, and for one that is an option here.
    """
    for word in words:
        # vLLM reads `--max_model_len=5` as `--max-model-len 5`.
        flag = word.partition("=")[0].replace("_", "-")
        # vLLM's parser takes every unambiguous beginning of a flag for the flag.
        if flag.startswith("--api-k"):
            raise ServeError(
                "--api-key would show the key to everyone who lists processes; "
                "put it in the variable that --api-key-env names, CONDUCTOR_KEY by default."
            )
        if flag in _OPTIONS:
            raise ServeError(f"{flag} is set by our own option; give {_OPTIONS[flag]} before the --.")
    return tuple(words)
