"""Keys: where they are looked up, and how they are kept out of texts.

Knows the environment and `.streamlit/secrets.toml`; knows no endpoint. A key is read when it is needed and
kept nowhere.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from conductor.errors import PoolError

SECRETS_FILE = Path(".streamlit/secrets.toml")
MASK = "***"

_SHORTEST_SECRET = 4


def find_secret(variable: str) -> str | None:
    """The value of the environment variable, else of that top-level key of the secrets file, else None.

    Raises `PoolError` when the secrets file cannot be read, or when the value cannot stand in a header.
    """
    value = os.environ.get(variable, "").strip() or _from_file(variable)
    if value and not (value.isascii() and value.isprintable()):
        raise PoolError(f"{variable} holds characters that no key has; copy the key again, in one line.")
    return value or None


def masked(text: str, key: str | None) -> str:
    """`text` without the key, should a server have repeated it."""
    return text if key is None or len(key) < _SHORTEST_SECRET else text.replace(key, MASK)


def _from_file(variable: str) -> str:
    try:
        document = tomllib.loads(SECRETS_FILE.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, RecursionError):
        # What the reader says of it may quote a key.
        raise PoolError(f"{SECRETS_FILE} cannot be read: it must be TOML in UTF-8.") from None
    value = document.get(variable, "")
    if not isinstance(value, str):
        raise PoolError(f'{SECRETS_FILE}: write {variable} as a text, {variable} = "...".')
    return value.strip()
