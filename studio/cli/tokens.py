"""`tokens create`, `list` and `revoke`: who may use the API, how much and how often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from typer import Argument

from conductor.errors import StorageError
from conductor.text.formatting import quantity
from storage import SessionStore
from storage.api_token import Token, TokenLimits
from storage.limits import Spent
from studio.cli.opening import stored
from studio.cli.options import App, JsonLines, LimitOptions, Stored, flag, names, option
from studio.cli.output.limit_cells import limits_cell, spent_cells
from studio.cli.output.shapes import Shape
from studio.cli.output.terminal import moment, name_next, one_line, print_lines, print_remark, table

_HEADINGS = ("id", "name", "created", "last used", "state", "requests", "tokens", "cost", "limits")

app = App()


@app.callback()
def tokens() -> None:
    """Make, list and revoke tokens of the API.

    Every request to the API needs a token, as `Authorization: Bearer TOKEN`. Programs on the server's own
    machine find one in the file api-token beside the store; tokens for others are made here. Each is shown
    once, when it is made: the store holds a digest of it.
    """


def _patterns(text: str) -> list[str]:
    """Patterns of tools in a text that separates them by commas; "none" is none of them."""
    return [] if text.strip() == "none" else [part for each in text.split(",") if (part := each.strip())]


@app.command()
def create(
    *,
    name: Annotated[str, Argument(metavar="NAME", help="Who or what it is for.")],
    workers: Annotated[Sequence[str] | None, option("It may use these workers only.", "A,B", names)] = None,
    tools: Annotated[
        Sequence[str] | None,
        option("Its workers may call these of their tools only; none: no tool.", "PATTERN,...", _patterns),
    ] = None,
    limited: LimitOptions,
    keeps_unstored: Annotated[
        bool, flag("--keeps-unstored", "Its requests with `store: false` are stored, too.")
    ] = False,
    small_requests: Annotated[
        str | None,
        option("It answers what is asked of a Conductor without tools, as agents ask for titles.", "WORKER"),
    ] = None,
    options: Stored,
) -> int:
    """Make a token and show it once."""
    limits = limited.limits(
        TokenLimits,
        workers=None if workers is None else tuple(workers),
        keeps_unstored=keeps_unstored,
        small_requests=small_requests,
        tools=None if tools is None else tuple(tools),
    )
    with stored(options) as store:
        token, text = store.tokens.create(name, limits)
    # Alone on its stream, to be put where it is needed.
    options.show({**_shape(token, Spent()), "token": text}, text)
    if not options.json:
        print_remark(f"this is the token {one_line(token.name)!r}, for the only time; keep it now.")
        name_next(f"token {token.id}", f"tokens list{options.again}")
    return 0


@app.command("list")
def list_tokens(*, _json_lines: JsonLines = False, options: Stored) -> int:
    """List tokens and what they have used.

    "~" stands before a sum with calls whose usage no endpoint reports: they count by estimate, and without
    dollars if their worker has no price.
    """
    with stored(options) as store:
        rows = [(token, store.tokens.spent(token.id)) for token in store.tokens.listed()]
    if options.json:
        return options.show({"tokens": [_shape(token, spent) for token, spent in rows]})
    if rows:
        print_lines(table(_HEADINGS, [_row(token, spent) for token, spent in rows], right=(5, 6, 7)))
    valid = sum(token.revoked_at is None for token, _ in rows)
    print_remark(f"{quantity(valid, 'token')} in force, beside this machine's own.")
    return 0


@app.command()
def revoke(
    token: Annotated[str, Argument(metavar="NAME", help="Its name or its id.")], *, options: Stored
) -> int:
    """Refuse a token from now on."""
    with stored(options) as store:
        revoked = store.tokens.revoke(_named(store, token).id)
        spent = store.tokens.spent(revoked.id)
    return options.show(_shape(revoked, spent), f"revoked {revoked.id}  {one_line(revoked.name)}")


def _named(store: SessionStore, name: str) -> Token:
    """The token of that id, else the one in force of that name. Raises `StorageError` without one."""
    entries = store.tokens.listed()
    # Those in force come first.
    for token in (*(token for token in entries if token.id == name), *entries):
        if name in (token.id, token.name):
            return token
    raise StorageError(f"There is no token {name!r} in this store; `tokens list` shows which there are.")


def _shape(token: Token, spent: Spent) -> Shape:
    """A token with what its requests used in its period; what is not limited is null, times Unix seconds."""
    return {**token.model_dump(mode="json"), "spent": spent.model_dump(mode="json")}


def _row(token: Token, spent: Spent) -> tuple[str, ...]:
    return (
        token.id,
        one_line(token.name, 30),
        moment(token.created_at),
        moment(token.used_at),
        "in force" if token.revoked_at is None else "revoked",
        f"{spent.requests:,}",
        *spent_cells(spent),
        limits_cell(token.limits),
    )
