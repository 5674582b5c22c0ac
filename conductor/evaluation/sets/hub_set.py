"""Loads a named set from the hub by the library `datasets`, which is the extra `datasets`.

Knows that library's one function; the rows are read as those of a file are.
"""

from __future__ import annotations

from collections.abc import Iterator

from conductor.errors import DataError
from conductor.evaluation.data_file import items_of
from conductor.evaluation.items import DataSet
from conductor.evaluation.sets.named_set import NamedSet
from conductor.extras import install_command


def load_named(
    named: NamedSet,
    *,
    scorer: str | None = None,
    limit: int | None = None,
    skip_broken: bool = False,
) -> DataSet:
    """The items of this set, as they come: with a `limit` no more is downloaded than it takes.

    Raises `DataError` where the library is missing, the hub refuses or cannot be reached, and for a row that
    is no item.
    """
    return items_of(
        _rows(named),
        name=named.name,
        place=named.source,
        fields=named.fields,
        scorer=scorer,
        limit=limit,
        skip_broken=skip_broken,
    )


def _rows(named: NamedSet) -> Iterator[tuple[int, object]]:
    try:
        from datasets import load_dataset  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise DataError(
            f"Loading from the hub needs the library `datasets`: {install_command('datasets')}, or "
            f"download {named.file} from {named.source} and name it with --file."
        ) from error
    try:
        yield from enumerate(load_dataset(**named.hub, streaming=True), start=1)
    except (OSError, ValueError, RuntimeError) as error:
        # Its own errors are of these kinds, those of a hub that refuses or is not there as well.
        raise DataError(
            f"{named.title} could not be loaded from {named.source}: {str(error)[:300]}. Where its page asks "
            "for an account, log in with `hf auth login`."
        ) from error
