"""The labels of what a field offers. The browser sends a choice by its label, and Streamlit takes the first
or the last option that has it, so that two options with one label would be one.

Knows no field. Options that are texts are their own labels where a field has no `format_func`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from itertools import chain, count
from typing import TypeVar

T = TypeVar("T")

_FEWEST = 4
"""Characters of an option that follow its name at least, where others have that name."""


def distinct_labels(names: Mapping[T, str]) -> Callable[[T], str]:
    """A field's `format_func`, from the name of each option: no two labels look the same.

    Each of several options with one name is followed by its own first characters, none by a number: a label
    that a browser still has must not be another option's once options come or go.
    """
    alike: defaultdict[str, list[T]] = defaultdict(list)
    for option, name in names.items():
        alike[_seen(name)].append(option)
    labels = {group[0]: names[group[0]] for group in alike.values() if len(group) == 1}
    texts = set(map(_seen, labels.values()))
    for group in alike.values():
        if len(group) > 1:
            for option, mark in _marks(group).items():
                label = f"{names[option]} · {mark}"
                others = (f"{label} ({number})" for number in count(2))
                labels[option] = next(each for each in chain([label], others) if _seen(each) not in texts)
                texts.add(_seen(labels[option]))
    return labels.__getitem__


def _seen(label: str) -> str:
    """A label as a page shows it."""
    return " ".join(label.split())


def _marks(options: list[T]) -> dict[T, str]:
    """The first characters of each option, as many as it takes."""
    texts = {option: str(option) for option in options}
    longest = max(map(len, texts.values()))
    enough = (n for n in range(_FEWEST, longest) if len({text[:n] for text in texts.values()}) == len(texts))
    length = next(enough, longest)
    return {option: text[:length] for option, text in texts.items()}
