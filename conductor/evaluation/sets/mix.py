"""The paper's mix: 960 problems for training, and 320 each for validation and for the test.

The paper (arXiv 2512.04388) trains on 960 problems of four sets; its code takes equal parts of them, split
by 60, 20 and 20 percent, which is 400 of each set. The draw here is by a seed of ours: that these are the
paper's own 960 is not known. Reads nothing itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from conductor.errors import DataError
from conductor.evaluation.items import DataSet, Item
from conductor.evaluation.sets.named_set import NAMED_SETS, NamedSet

EACH = 400
"""Questions of each set: 240 for training, 80 for validation and 80 for the test."""

SEED = 960

MIXES: Mapping[str, slice] = {
    "paper960": slice(0, 240),
    "paper960-validation": slice(240, 320),
    "paper960-test": slice(320, 400),
}

_LIVECODEBENCH = NAMED_SETS["livecodebench"]
_FIRST = "hf://datasets/livecodebench/code_generation_lite/test.jsonl"

PARTS: tuple[NamedSet, ...] = (
    *(NAMED_SETS[name] for name in ("math500", "mmlu", "rlpr")),
    replace(_LIVECODEBENCH, file="test.jsonl", hub={**_LIVECODEBENCH.hub, "data_files": _FIRST}),
)
"""LiveCodeBench by its first release, of 400 problems."""


def read_mix(name: str, read: Callable[[NamedSet], DataSet], *, limit: int | None = None) -> DataSet:
    """The questions of a mix, the sets among each other; `read` gives the questions of a set.

    Raises `DataError` for a set with fewer than `EACH` questions.
    """
    items: list[Item] = []
    for part in PARTS:
        data = read(part)
        if len(data.items) < EACH:
            raise DataError(
                f"{name} takes {EACH} questions of {part.title}, and there are {len(data.items):,}: use all "
                f"of {part.file} from {part.source}."
            )
        generator = random.Random(f"{SEED} {part.name}")  # noqa: S311 - no secret
        order = generator.sample(data.items, EACH)
        items += (_item_of_part(part, item) for item in order[MIXES[name]])
    random.Random(SEED).shuffle(items)  # noqa: S311 - see above
    return DataSet(name, tuple(items[:limit]))


def _item_of_part(part: NamedSet, item: Item) -> Item:
    about = {**item.metadata, "category": part.name, "within": item.category}
    return item.model_copy(update={"id": f"{part.name}/{item.id}"[:200], "metadata": about})
