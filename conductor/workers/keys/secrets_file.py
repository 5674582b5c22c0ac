"""Puts a key into `.streamlit/secrets.toml`, where keys that are not in the environment are looked up.

Knows that file; what else it holds stays as it is. A key is in no message.
"""

from __future__ import annotations

import os
import re
import threading
import tomllib
from pathlib import Path
from uuid import uuid4

import tomlkit

from conductor.errors import PoolError
from conductor.workers.keys.secret import SECRETS_FILE, name_fault

_SHORTEST = 8
_LONGEST = 1000

_writing = threading.Lock()


def keep_key(variable: str, key: str | None) -> None:
    """Write the key under that variable's name, with mode 0600, and use it from the next call on.

    None removes what stands there.

    Raises `PoolError`, and nothing is changed then, where the text is no key, the variable is set in the
    environment, which goes before the file, or the file cannot be read or written.
    """
    key = None if key is None else key.strip()
    if (fault := name_fault(variable)) is not None:
        raise PoolError(f"{fault}.")
    if key is not None and not (_SHORTEST <= len(key) <= _LONGEST and re.fullmatch(r"[!-~]+", key)):
        raise PoolError("This is no key: it has no spaces or line ends; copy the key again.")
    with _writing:
        before = _text()
        held = _values(before).get(variable)
        # Streamlit puts what the file held when the app started into the environment.
        copied = os.environ.get(variable) == held
        if os.environ.get(variable, "").strip() and not copied:
            raise PoolError(
                f"{variable} is set in the environment, which goes before {SECRETS_FILE}; change it there, "
                "or start the program without it."
            )
        _replace(_with(before, variable, key))
        if copied:
            os.environ.pop(variable, None)


def _text() -> str:
    """The file's text, "" where there is none."""
    try:
        return SECRETS_FILE.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        raise PoolError(f"{SECRETS_FILE} cannot be read: it must be TOML in UTF-8.") from None


def _values(text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        # The parser's error may quote a key.
        raise PoolError(f"{SECRETS_FILE} cannot be read: it must be TOML in UTF-8.") from None


def _with(text: str, variable: str, key: str | None) -> str:
    """The text with that entry at its top level, above all tables, or without it; the rest as it was."""
    expected = {**_values(text), variable: key}
    document = tomlkit.parse(text)
    if key is None:
        document.pop(variable, None)
        del expected[variable]
        new = document.as_string()
    elif variable in document:
        document[variable] = key
        new = document.as_string()
    else:
        new = f"{tomlkit.document().add(variable, key).as_string()}{text}"
    if _values(new) != expected:
        raise PoolError(
            f"{SECRETS_FILE} is written in a way that cannot be changed here; write {variable} by hand."
        )
    return new


def _replace(text: str) -> None:
    """Put the text in the file's place at once; a link stays one."""
    target = SECRETS_FILE.resolve()
    beside = target.with_name(f".{target.name}.{uuid4().hex[:8]}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(file, "w", encoding="utf-8", newline="") as new:
                new.write(text)
                new.flush()
                os.fsync(new.fileno())
            beside.replace(target)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise PoolError(f"{SECRETS_FILE} cannot be written: {error.strerror}; it is as it was.") from None
