"""How vLLM is to serve a model: its command line, its environment, and the pool lines to paste. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from conductor.errors import ServeError
from conductor.messages import Value
from conductor.vllm.installed import Installed

_OURS = {
    "--model": "--model or --tiny",
    "--served-model-name": "--served-name",
    "--host": "--host",
    "--port": "--port",
    "--max-model-len": "--max-model-len",
}
"""vLLM's flags that have an option of their own here, because the rest must know their values."""

_STRUCTURED = {"backend": "xgrammar", "disable_any_whitespace": True}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to


Setting = str | int | dict[str, int]
"""A value of a pool file's table."""


class Serving(Value):
    """One server as it was asked for.

    `tiny` marks the random model. `key_env` names the variable that holds the API key, None for a server
    without one. `extra` are vLLM flags as `extra_flags` lets them through; they win over ours.
    """

    model: str
    tiny: bool = False
    host: str = "127.0.0.1"
    port: int = 8000
    served_name: str = "conductor"
    max_model_len: int | None = None
    key_env: str | None = None
    extra: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Where the server is reached from this machine, without a path."""
        host = _EVERYWHERE.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    def command(self, vllm: Installed) -> list[str]:
        """The command that starts the server; never holds the key, as every user can list processes."""
        chosen = {_bare(flag) for flag in map(_flag, self.extra) if flag}
        flags = [flag for flag in self._flags(cpu=vllm.cpu) if _bare(flag[0]) not in chosen]
        return [vllm.python, "-m", vllm.server, *(part for flag in flags for part in flag), *self.extra]

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
            environment.setdefault("VLLM_CPU_KVCACHE_SPACE", "1" if self.tiny else "4")
        if self.tiny:
            environment["HF_HUB_OFFLINE"] = "1"
        return environment

    def pool_lines(self, *, context: int | None) -> str:
        """The `[conductor]` and `[[worker]]` tables of a pool file that uses this server, as TOML.

        `context` is how many tokens a call may hold, None where the server does not say.
        """
        shared: dict[str, Setting] = {"base_url": f"{self.url}/v1", "model": self.served_name}
        if self.key_env is not None:
            shared["api_key_env"] = self.key_env
        worker: dict[str, Setting] = {"name": PurePath(self.model).name or self.model, **shared}
        worker["strengths"] = "random words, to try the path" if self.tiny else "general questions"
        if self.tiny:
            # By chance its first word would now and then be the end.
            worker |= {"name": "tiny", "max_tokens": 64, "extra": {"min_tokens": 16}}
        if context is not None:
            worker["context"] = context
        return f"[conductor]\n{_toml(shared)}\n\n[[worker]]\n{_toml(worker)}\n"

    def _flags(self, *, cpu: bool) -> list[Sequence[str]]:
        flags: list[Sequence[str]] = [
            ("--model", self.model),
            ("--served-model-name", self.served_name),
            ("--host", self.host),
            ("--port", str(self.port)),
            ("--enable-prefix-caching",),
            ("--structured-outputs-config", json.dumps(_STRUCTURED, separators=(",", ":"))),
        ]
        if self.max_model_len is not None:
            flags.append(("--max-model-len", str(self.max_model_len)))
        if cpu:
            flags += [("--dtype", "float32"), ("--enforce-eager",)]
        if self.tiny:
            flags.append(("--max-num-seqs", "8"))
        return flags


def open_to_others(host: str) -> bool:
    """Whether other machines can reach a server that listens there."""
    return host not in _LOOPBACK


def extra_flags(words: Sequence[str]) -> tuple[str, ...]:
    """Flags that go to vLLM as they are.

    Raises `ServeError` for a flag that would show the key to others, and for one that is an option here.
    """
    for word in words:
        flag = _flag(word)
        # vLLM's parser takes every unambiguous beginning of a flag for the flag.
        if flag and flag.startswith("--api-k"):
            raise ServeError(
                "--api-key would show the key to everyone who lists processes; "
                "put it in the variable that --api-key-env names, CONDUCTOR_KEY by default."
            )
        if flag in _OURS:
            raise ServeError(f"{flag} is set by our own option; give {_OURS[flag]} before the --.")
    return tuple(words)


def _flag(word: str) -> str | None:
    """The long flag a word is, as vLLM understands it: `--max_model_len=5` is `--max-model-len`."""
    return word.partition("=")[0].replace("_", "-") if word.startswith("--") else None


def _bare(flag: str) -> str:
    return flag.removeprefix("--no-").removeprefix("--")


def _toml(table: Mapping[str, Setting], *, between: str = "\n") -> str:
    return between.join(f"{key} = {_toml_value(value)}" for key, value in table.items())


def _toml_value(value: Setting) -> str:
    if isinstance(value, dict):
        return f"{{ {_toml(value, between=', ')} }}"
    # JSON's strings and numbers are TOML's, as long as no other letters are escaped.
    return json.dumps(value, ensure_ascii=False)
