"""The texts by which baselines ask workers: ours, or a reference's from a file of the user's."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from conductor.errors import PlanError

Texts = Mapping[str, str]

OURS: Mapping[str, Texts] = tomllib.loads(
    Path(__file__).with_name("wording.toml").read_text(encoding="utf-8")
)
"""By the method's name, then by what the text is for."""

_MOST = 100_000


def texts_of(method: str, prompt: str | None) -> Texts:
    """The texts of a method, those of the file `prompt` in the place of ours.

    The file is TOML with a table of the method, or the text itself where the method has one only. Raises
    `PlanError` where it cannot be read or has no text of the method.
    """
    ours = OURS[method]
    if prompt is None:
        return ours
    texts = _read(prompt)
    if not prompt.endswith(".toml"):
        if len(ours) > 1:
            raise PlanError(f"{prompt} is one text, and {method} has {', '.join(ours)}; write them as TOML.")
        return dict.fromkeys(ours, texts)
    try:
        own = tomllib.loads(texts).get(method)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{prompt} is no TOML: {error}.") from error
    if not isinstance(own, dict) or not own or not all(isinstance(text, str) for text in own.values()):
        raise PlanError(f"{prompt} has no texts for {method}; its table [{method}] has {', '.join(ours)}.")
    if unknown := own.keys() - ours.keys():
        raise PlanError(f"{prompt}, [{method}]: there is no {min(unknown)}; there are {', '.join(ours)}.")
    return {**ours, **own}


def digest_of(prompt: str) -> str:
    """A hash of the file. Raises `PlanError` where it cannot be read."""
    return sha256(_read(prompt).encode()).hexdigest()


def _read(prompt: str) -> str:
    try:
        text = Path(prompt).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise PlanError(f"{prompt} cannot be read: {reason}.") from error
    if not 0 < len(text) <= _MOST:
        raise PlanError(f"{prompt} has {len(text):,} characters; a prompt has 1 to {_MOST:,}.")
    return text
