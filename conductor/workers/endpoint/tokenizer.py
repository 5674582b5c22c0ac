"""How many tokens a text is: by a model's own tokenizer, or by the rule of simulated workers.

Knows texts, and a `tokenizer.json` as the `tokenizers` library writes it; uses no network. Such a file has
megabytes and takes half a second to read, so it is cached until it changes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from conductor.errors import PoolError

if TYPE_CHECKING:
    import tokenizers

FILES_KEPT = 16
"""Tokenizers that stay in memory; models of one family share theirs."""

_SURROGATE = re.compile("[\ud800-\udfff]")


class Tokenizer:
    """A model's tokenizer. Made by `read_tokenizer`."""

    def __init__(self, path: Path, model: tokenizers.Tokenizer) -> None:
        self.path = path
        self._model = model

    def __repr__(self) -> str:
        return f"Tokenizer({str(self.path)!r})"

    def counts(self, texts: Sequence[str]) -> tuple[int, ...]:
        """The tokens of the texts joined, each counted for the text in which it begins.

        Words may grow together where texts meet, so the texts are never read one by one.
        """
        # What is half a character to UTF-16 is none to the library.
        whole = _SURROGATE.sub("\ufffd", "".join(texts))
        starts = sorted(start for start, _ in self._model.encode(whole, add_special_tokens=False).offsets)
        ends = [0, *accumulate(map(len, texts))]
        return tuple(bisect_left(starts, end) - bisect_left(starts, start) for start, end in pairwise(ends))


def stretches(texts: Sequence[str]) -> tuple[int, ...]:
    """The tokens of the texts joined, as simulated workers count them: stretches between spaces.

    One begins at the start and behind each space; it counts for the text in which it begins.
    """
    whole = "".join(texts)
    starts = [0, *(found.end() for found in re.finditer(" ", whole))]
    ends = [0, *accumulate(map(len, texts))]
    counts = [bisect_left(starts, end) - bisect_left(starts, start) for start, end in pairwise(ends)]
    if counts:
        # Behind a space at the very end another stretch begins, however empty.
        counts[-1] += len(starts) - sum(counts)
    return tuple(counts)


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in the file at `path`. Raises `PoolError` where it is missing or broken."""
    try:
        state = path.stat()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise PoolError(
            f"{path} cannot be read: {reason}. Download the model's tokenizer.json to that place, "
            "or leave the key out."
        ) from error
    if path.is_dir():
        raise PoolError(f"{path} is a folder; name the tokenizer.json in it.")
    if not path.is_file():
        # A device or a pipe may never end.
        raise PoolError(f"{path} is no file; name the model's tokenizer.json.")
    return _read(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=FILES_KEPT)
def _read(path: Path, _changed_at: int, _size: int) -> Tokenizer:
    import tokenizers  # noqa: PLC0415 - most pools name no tokenizer and need not wait for the library

    try:
        model = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more precise
        raise PoolError(
            f"{path} is not a tokenizer.json of the tokenizers library: {str(error)[:200]}. "
            "Download the model's own again."
        ) from error
    # Some files contain how a training batch is cut and filled up.
    model.no_truncation()
    model.no_padding()
    return Tokenizer(path, model)
