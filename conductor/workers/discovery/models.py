"""Reads the name of a served model: whether it answers questions, its strengths, its version.

Pure. Names are all that most lists of models have; what a name does not show is not known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from conductor.workers.endpoint.catalogue import ServedModel

MOST = 6
"""Models of a local server that are taken at once; others are added on the Pool page."""

_OTHER_WORK = re.compile(
    r"embed|rerank|whisper|\btts\b|-tts|speech|audio|voice|realtime|transcri|moderation|guard|safeguard|"
    r"dall-e|image|imagen|vision-preview|veo|sora|flux|diffusion|\bbge\b|bge-|\be5-|minilm|ocr|clip|"
    r"davinci|babbage|computer-use|search|robotics|\blive\b|lyria|\baqa\b",
    re.IGNORECASE,
)
_STRENGTHS = (
    (r"coder|codestral|devstral|code", "code: writing it and reviewing it"),
    (r"deepseek-r|reason|think|qwq|magistral|gpt-oss|\bo\d", "mathematics and logic, thinks first"),
    (
        r"(?<!ge)mini(?!max)|flash|haiku|nano|small|lite|instant|turbo|[^\d][1-4]b\b",
        "quick answers, summaries, rewording",
    ),
    (r"opus|gpt-\d|pro\b|large|sonnet", "hard questions, code, final answers"),
    (r"qwen|deepseek", "mathematics and code"),
    (r"gemma|llama|mistral|phi|granite|kimi|glm", "everyday questions, writing"),
)
_SIZE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\s?b\b", re.IGNORECASE)
_DATE = 4
"""A number in a name that has so many digits is a date or a build, not a version."""


def answers_questions(name: str) -> bool:
    """Whether a model of that name may be a worker: printable, of a usual length, and made for text."""
    return bool(name) and len(name) <= 200 and name.isprintable() and not _OTHER_WORK.search(name)


def strengths_of(name: str) -> str | None:
    """The one line for a Conductor, or None if the name shows nothing."""
    return next((words for pattern, words in _STRENGTHS if re.search(pattern, name, re.IGNORECASE)), None)


def newest(names: Iterable[str], families: Sequence[str]) -> tuple[str, ...]:
    """Of each family, a regular expression, the name with the highest version; families without one are left
    out. A name without a date goes before the same version with one.
    """
    suitable = sorted(filter(answers_questions, names), key=lambda name: (_version(name), -len(name)))
    by_family = (
        next((name for name in reversed(suitable) if re.fullmatch(family, name)), None) for family in families
    )
    return tuple(dict.fromkeys(filter(None, by_family)))


def _version(name: str) -> tuple[tuple[int, ...], bool, tuple[int, ...]]:
    numbers = re.findall(r"\d+", name)
    dates = tuple(int(digits) for digits in numbers if len(digits) >= _DATE)
    return tuple(int(digits) for digits in numbers if len(digits) < _DATE), not dates, dates


def strongest(models: Sequence[ServedModel]) -> ServedModel:
    """The one of most parameters by its name, else the first."""
    return max(models, key=lambda model: _size(model.name))


def _size(name: str) -> float:
    return max((float(number) for number in _SIZE.findall(name)), default=0.0)


def worker_name(model: str, used_names: Collection[str]) -> str:
    """A short name for the worker: the model's without its folder or maker, tag and date; longer or numbered
    where that is taken.
    """
    last = re.split(r"[/\\]", model.rstrip("/\\"))[-1]
    whole = re.sub(r"-\d{8}$", "", last) or model
    short = whole.partition(":")[0] or whole
    numbered = (f"{short}-{number}" for number in range(2, len(used_names) + 3))
    return next(name for name in (short, whole.replace(":", "-"), *numbered) if name not in used_names)
