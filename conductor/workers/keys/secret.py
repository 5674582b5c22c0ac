"""Keys: which variables may hold one, and where they are looked up.

Knows the environment and `.streamlit/secrets.toml`, which holds keys and no setting; knows no endpoint. A key
is read when it is needed and stored nowhere. Of others it reads those of `own_secret`.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from conductor.errors import PoolError
from conductor.files.project_folder import new_pool_file, pool_place
from conductor.own_settings import setting
from conductor.text.bounded_value import toml_value
from conductor.workers.keys.own_file import own_text

SECRETS_FILE = Path(".streamlit/secrets.toml")
_KIND = "TOML in UTF-8"
KEY_NAMES = "CONDUCTOR_KEY_NAMES"
"""The environment variable that lists, separated by commas, further variables that hold keys."""
_NO_NAME = "write the name of an environment variable, like OPENAI_API_KEY, not the key itself"

_SUFFIX = "_API_KEY"
_NAMES = ("HF_TOKEN", "CONDUCTOR_KEY")
_OWN_PREFIX = "CONDUCTOR_"

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_PASTED_KEY = re.compile(r"[A-Z][A-Z0-9]{0,14}(_[A-Z0-9]{1,15})*")


def name_fault(variable: str) -> str | None:
    """Why a variable of that name may not be sent as a key, and what to do; None if it may.

    This function and `CONDUCTOR_KEY_NAMES` decide which names are keys, never a pool file: anyone who can
    edit that file could otherwise send any variable of the environment to any host.
    """
    if not _VARIABLE.fullmatch(variable):
        return _NO_NAME
    # On Windows the names of variables are case-insensitive.
    if variable.upper().startswith(_OWN_PREFIX) and variable not in _NAMES:
        named = variable if repeatable(variable) else "this variable"
        return f"{named} is a setting of this program and is sent nowhere; name one that ends in {_SUFFIX}"
    if variable in _NAMES or variable.endswith(_SUFFIX) or variable in _listed():
        return None
    if not repeatable(variable):
        return _NO_NAME
    return (
        f"{variable} may not be sent as a key: the name of a key ends in {_SUFFIX}, or is HF_TOKEN or "
        f"CONDUCTOR_KEY; rename the variable, or list {variable} in {KEY_NAMES} before the program starts"
    )


def repeatable(variable: str) -> bool:
    """Whether a text in the place of a variable's name may be shown: it is no key that was pasted.

    Those have longer words than the usual names, or small letters.
    """
    return variable in _listed() or _NO_PASTED_KEY.fullmatch(variable) is not None


def find_secret(variable: str) -> str | None:
    """The value of the environment variable, else of that top-level key of the secrets file, else None.

    Raises `PoolError` when a variable of that name may not be sent, the secrets file cannot be read, or the
    value is not valid in a header.
    """
    if (fault := name_fault(variable)) is not None:
        raise PoolError(f"{fault}.")
    value = os.environ.get(variable, "").strip() or _from_file(variable)
    if value and not (value.isascii() and value.isprintable()):
        raise PoolError(f"{variable} holds characters that no key has; copy the key again, in one line.")
    return value or None


def own_secret(variable: str) -> str | None:
    """The value of a secret setting of this program in the environment; None if it is not set.

    Raises `PoolError` where it is set in the secrets file, which may have come with its folder from
    elsewhere, instead, and when that file cannot be read.
    """
    value = setting(variable) or None
    if value is None and _from_file(variable):
        raise PoolError(
            f"{variable} is set in {SECRETS_FILE}, from which only keys are read; set it in the environment "
            "and remove it there, or remove the file if it is not yours."
        )
    return value


def known_keys() -> tuple[str, ...]:
    """The values of all variables that may hold a key, in the environment and the secrets file."""
    try:
        document = secrets_in(secrets_text())
    except PoolError:
        document = {}  # looking up a key of the file raises the reason; no key of it was handed out
    held, listed = {**document, **os.environ}, _listed()
    texts = (value for name, value in held.items() if _may_hold_key(name, listed))
    return tuple(text.strip() for text in texts if isinstance(text, str) and text.strip())


# Cached, because every call asks it of all variables of the environment.
@lru_cache(maxsize=1024)
def _may_hold_key(variable: str, listed: frozenset[str]) -> bool:  # noqa: ARG001 - what `name_fault` looks up
    return name_fault(variable) is None


def _listed() -> frozenset[str]:
    return frozenset(name.strip() for name in (setting(KEY_NAMES) or "").split(",")) - {""}


def secrets_text() -> str:
    """The text of the secrets file, or "". Raises `PoolError`, also where it is not this
    user's alone.
    """
    return own_text(secrets_path(), kind=_KIND)


def secrets_path() -> Path:
    """`SECRETS_FILE` in the current folder if it is there, else beside the pool file of the project or the
    user, whether `CONDUCTOR_POOL` names another one or not.
    """
    try:
        if SECRETS_FILE.exists():
            return SECRETS_FILE
    except OSError:
        return SECRETS_FILE  # reading it names what is wrong
    place = pool_place()
    return (new_pool_file() if place is None else place.path).parent / SECRETS_FILE


def secrets_in(text: str) -> dict[str, Any]:
    """The values in the text of a secrets file. Raises `PoolError`."""
    try:
        return toml_value(text)
    except ValueError:
        # The parser's error may quote a key.
        raise PoolError(f"{SECRETS_FILE} cannot be read: it must be {_KIND}.") from None


def _from_file(variable: str) -> str:
    value = secrets_in(secrets_text()).get(variable, "")
    if not isinstance(value, str):
        raise PoolError(f'{SECRETS_FILE}: write {variable} as a text, {variable} = "...".')
    return value.strip()
