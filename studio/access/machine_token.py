"""The token of this machine: a file that a server writes at its first start, for the programs of its user.

Knows the file; `auth` decides which requests the token admits. The token has no limits, so only the file's
owner can read it. Deleting the file revokes the token; the next start writes another one.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from conductor.errors import PoolError, ServeError
from conductor.own_settings import command_name
from conductor.workers.keys.own_file import own_text
from storage import data_folder, default_url
from storage.api_token import new_secret, read_token

NAME = "api-token"
_KIND = "a token"


@dataclass(frozen=True)
class MachineToken:
    """The token in the file at `path`. The file is read for each request: nothing else holds the token."""

    path: Path

    @classmethod
    def configured(cls) -> MachineToken:
        """That beside the configured store. Raises `StorageError` where the store's URL is none."""
        return cls.below(data_folder(default_url()))

    @classmethod
    def below(cls, folder: Path) -> MachineToken:
        return cls((folder / NAME).resolve())

    def read(self) -> str | None:
        """The token's text; None without such a file that is this user's alone, or a token in it."""
        try:
            text = own_text(self.path, kind=_KIND).strip()
        except PoolError:
            return None
        return None if read_token(text) is None else text

    def create(self) -> None:
        """Write the file, with mode 0600, unless there is one; of two processes at once, one file stays.

        Raises `ServeError` where it cannot be written, or is not this user's alone.
        """
        try:
            if self.path.exists():
                own_text(self.path, kind=_KIND)
                return
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._write(new_secret().text)
        except PoolError as error:
            raise ServeError(str(error)) from error
        except OSError as error:
            raise ServeError(
                f"The token of this machine cannot be written to {self.path}: {error.strerror}. Make one for "
                f"programs with `{command_name()} tokens create NAME`."
            ) from error

    def _write(self, text: str) -> None:
        # Written beside it with mode 0600 and then linked: no process can read a part of it.
        handle, draft = tempfile.mkstemp(prefix=f".{NAME}-", dir=self.path.parent)
        try:
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(text)
            os.link(draft, self.path)
        except FileExistsError:
            pass
        finally:
            Path(draft).unlink()
