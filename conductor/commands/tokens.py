"""`tokens create`, `list` and `revoke`: who may use the API, how much and how often."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, get_args

from conductor.amounts import counted
from conductor.api.token import Period, Spent, Token, TokenLimits, told
from conductor.commands.session_choice import stored
from conductor.commands.settings import above_zero, names, positive
from conductor.commands.shapes import Shape
from conductor.commands.table import UNKNOWN, moment, one_line, table
from conductor.errors import StorageError
from storage import SessionStore

_HEADINGS = ("id", "name", "created", "last used", "state", "requests", "tokens", "cost", "limits")
_RIGHT = (5, 6, 7)
_DESCRIPTION = (
    "Without any token the API answers this machine only; with one, every request needs one, as "
    "`Authorization: Bearer TOKEN`. A token is shown once, when it is made: the store keeps a digest of it."
)


def add_to(commands: Any, parents: list[argparse.ArgumentParser]) -> None:
    """Register the command and what it can do."""
    parser = commands.add_parser(
        "tokens", help="make, list and revoke tokens of the API", description=_DESCRIPTION
    )
    parts = parser.add_subparsers(metavar="WHAT", required=True)
    create = parts.add_parser("create", parents=parents, help="make a token and show it once")
    create.add_argument("name", metavar="NAME", help="who or what it is for")
    create.add_argument("--workers", type=names, metavar="A,B", help="its requests have these workers only")
    create.add_argument("--tokens", type=positive, metavar="N", help="its requests may use so many tokens")
    create.add_argument("--cost", type=above_zero, metavar="USD", help="its requests may cost so much")
    create.add_argument(
        "--each",
        choices=get_args(Period),
        default="total",
        help="what --tokens and --cost are for: each day or month (UTC), or in total; default: total",
    )
    create.add_argument("--per-minute", type=positive, metavar="N", help="so many requests a minute")
    create.add_argument("--tokens-per-minute", type=positive, metavar="N", help="so many tokens a minute")
    create.set_defaults(command=_create)
    listing = parts.add_parser("list", parents=parents, help="list tokens and what they have used")
    listing.set_defaults(command=_list)
    revoke = parts.add_parser("revoke", parents=parents, help="have nobody come in with a token any more")
    revoke.add_argument("token", metavar="NAME", help="its name or its id")
    revoke.set_defaults(command=_revoke)


def _create(options: argparse.Namespace) -> int:
    limits = TokenLimits(
        workers=None if options.workers is None else tuple(options.workers),
        tokens=options.tokens,
        cost=options.cost,
        period=options.each,
        requests_per_minute=options.per_minute,
        tokens_per_minute=options.tokens_per_minute,
    )
    with stored(options) as store:
        token, text = store.create_token(options.name, limits)
    if options.json:
        print(json.dumps({**_shape(token, Spent()), "token": text}))
    else:
        # Alone on its stream, to be put where it is needed.
        print(text)
        print(
            f"conductor: this is the token {one_line(token.name)!r}, for the only time; keep it now.",
            file=sys.stderr,
        )
    return 0


def _list(options: argparse.Namespace) -> int:
    with stored(options) as store:
        found = [(token, store.token_spent(token.id)) for token in store.tokens()]
    if options.json:
        print(json.dumps({"tokens": [_shape(token, spent) for token, spent in found]}))
        return 0
    if found:
        print(table(_HEADINGS, [_row(token, spent) for token, spent in found], right=_RIGHT))
    valid = sum(token.revoked_at is None for token, _ in found)
    means = "every request to the API needs one of them" if valid else "the API answers this machine only"
    print(f"conductor: {counted(valid, 'token')} in force; {means}.", file=sys.stderr)
    return 0


def _revoke(options: argparse.Namespace) -> int:
    with stored(options) as store:
        token = store.revoke_token(_named(store, options.token).id)
        spent = store.token_spent(token.id)
    if options.json:
        print(json.dumps(_shape(token, spent)))
    else:
        print(f"revoked {token.id}  {one_line(token.name)}")
    return 0


def _named(store: SessionStore, given: str) -> Token:
    """The token of that id, else the one in force of that name. Raises `StorageError` where there is none."""
    known = store.tokens()
    found = next((token for token in known if token.id == given), None)
    # Those in force come first.
    found = found or next((token for token in known if token.name == given), None)
    if found is None:
        raise StorageError(f"There is no token {given!r} in this store; `tokens list` shows which there are.")
    return found


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
        f"{spent.tokens:,}",
        f"${spent.cost:,.4f}",
        one_line(", ".join(told(token.limits)), 100) or UNKNOWN,
    )
