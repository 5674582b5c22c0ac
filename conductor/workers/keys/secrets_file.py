"""Puts a key into `.streamlit/secrets.toml`, where keys that are not in the environment are looked up.

Knows that file; what else it holds stays as it is. A key is in no message.
"""

from __future__ import annotations

import os
import re
import threading

import tomlkit

from conductor.errors import PoolError
from conductor.files.named_file import replace_file
from conductor.workers.keys.secret import SECRETS_FILE, name_fault, secrets_in, secrets_path, secrets_text

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
        raise PoolError("This is not a key: keys have no spaces or line breaks. Copy the key again.")
    with _writing:
        before = secrets_text()
        if os.environ.get(variable, "").strip():
            raise PoolError(
                f"{variable} is set in the environment, which goes before {SECRETS_FILE}; change it there, "
                "or start the program without it."
            )
        new, path = _edited_text(before, variable, key), secrets_path()
        try:
            target = path.resolve()
            target.parent.mkdir(parents=True, exist_ok=True)
            replace_file(target, new.encode("utf-8"), mode=0o600)
        except OSError as error:
            raise PoolError(f"{path} cannot be written: {error.strerror}; it is as it was.") from None


def _edited_text(text: str, variable: str, key: str | None) -> str:
    """The text with that entry at its top level, above all tables, or without it; the rest as it was."""
    expected = {**secrets_in(text), variable: key}
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
    if secrets_in(new) != expected:
        raise PoolError(
            f"{SECRETS_FILE} is written in a way that cannot be changed here; write {variable} by hand."
        )
    return new
