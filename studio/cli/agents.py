"""`agents`: the configuration with which a client of other people uses this server, and a token for it.

The blocks are data, in agents.toml. Knows where a block belongs; writes no file of a client.
"""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import Annotated

from typer import Argument, BadParameter

from conductor.orchestration.rounds import offered
from conductor.values.presets import Settings
from conductor.workers.pool.pool import configured_pool
from storage.api_token import TokenLimits
from studio.cli.opening import stored
from studio.cli.options import App, Configured, flag, option
from studio.cli.output.terminal import print_lines, print_remark, table, written_to

VARIABLE = "CONDUCTOR_API_KEY"
"""The environment variable from which each client reads the token."""

URL = "http://localhost:8501/v1"
"""Where `serve` has the API unless it is given another address."""


@dataclass(frozen=True)
class Configuration:
    """A client's `block` of configuration, which belongs into `path`; `start` is a line of the shell."""

    title: str
    path: str
    start: str
    block: str

    def filled_in(self, **values: str) -> Configuration:
        """The same for a server's `url`, its `model`, and the `small_model` for titles and the like."""
        quoted = {name: json.dumps(value, ensure_ascii=False)[1:-1] for name, value in values.items()}
        words = {name: shlex.quote(value) for name, value in values.items()}
        block, start = Template(self.block).substitute(quoted), Template(self.start).substitute(words)
        return replace(self, block=block.strip(), start=start)


@cache
def configurations() -> Mapping[str, Configuration]:
    """All of them, by the name that the command takes."""
    text = Path(__file__).with_name("agents.toml").read_text(encoding="utf-8")
    return {name: Configuration(**entry) for name, entry in tomllib.loads(text).items()}


def _client(text: str) -> str:
    if text not in configurations():
        raise BadParameter(f"{text!r} is not among them; choose {', '.join(configurations())}")
    return text


app = App()


@app.command()
def agents(
    client: Annotated[
        str | None, Argument(metavar="CLIENT", help="As listed without it.", parser=_client)
    ] = None,
    *,
    url: Annotated[str, option("The API's address.", "URL")] = URL,
    model: Annotated[str, option("Who answers: conductor, worker:NAME and others.", "MODEL")] = "conductor",
    small_model: Annotated[
        str | None, option("Who writes titles and the like. Default: a cheapest worker.", "MODEL")
    ] = None,
    name: Annotated[str | None, option("The token's name. Default: the client's.", "NAME")] = None,
    keeps_unstored: Annotated[
        bool, flag("--keeps-unstored", "Requests with `store: false`, as of Codex, are stored, too.")
    ] = False,
    token_file: Annotated[Path | None, option("Write the token here.", "FILE", Path)] = None,
    options: Configured,
) -> int:
    """Print how coding agents and SDKs use this server, with a token.

    Without CLIENT they are listed. The block of configuration is alone on stdout. It has no token: the client
    reads that from the environment variable CONDUCTOR_API_KEY, whose line is on stderr.
    """
    if client is None:
        rows = [(key, each.title, each.path) for key, each in configurations().items()]
        shape = {"clients": [dict(zip(("name", "title", "path"), row, strict=True)) for row in rows]}
        return options.show(shape, table(("name", "client", "where its block belongs"), rows))
    configuration = configurations()[client].filled_in(
        url=url, model=model, small_model=small_model or _small_model(options)
    )
    # Opened before there is a token, which is nowhere else.
    with stored(options) as store, written_to(token_file) as file:
        token, text = store.tokens.create(name or client, TokenLimits(keeps_unstored=keeps_unstored))
        if token_file is not None:
            file.write(text)
    key = text if token_file is None else f"$(cat {shlex.quote(str(token_file))})"
    lines = (f'export {VARIABLE}="{key}"', configuration.start)
    options.show({**asdict(configuration), "name": token.name, "shell": lines}, configuration.block)
    if not options.json:
        print_remark(f"this belongs into {configuration.path}; the shell has the token by the first line:")
        print_lines(*lines, stream=sys.stderr)
    return 0


def _small_model(options: Configured) -> str:
    """A cheapest worker of the pool."""
    return f"worker:{offered(configured_pool(options.pool), Settings(economical=True))[0].name}"
