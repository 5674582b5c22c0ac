"""Reads the research's own texts from a copy of its code, github.com/junho328/orchestrator.

Each text is recognised by its place and its slots; no line of the copy is run. What the texts are for is
wording's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Formatter

from conductor.errors import FormatError
from conductor.workers.wording.wording import SLOTS, Wording

TRAINED = "v1_7c2_2"
"""The template that the published training used; `#NAME` behind a path names another, as the one with other
examples, `v1_7c2_2_ood`, of its evaluation."""

_LATER = "SIMPLE_recursion_FORMAT_V0"
_DATA = "custom_data"
_PLANS, _LINES, _CHAT, _ROUNDS, _WORKERS = _FILES = (
    f"{_DATA}/routing_question_formats.py",
    f"{_DATA}/dataset_utils.py",
    f"{_DATA}/dataset.py",
    f"{_DATA}/recursion_formats.py",
    "trainers/conductor_engine.py",
)


def sources(path: Path) -> tuple[Path, ...]:
    """The files that `read_wording` reads."""
    root = _split(path)[0]
    return tuple(root / name for name in _FILES)


def read_wording(path: Path) -> Wording:
    """The texts in a copy of the repository, or of its folder `conductor`.

    Raises `FormatError` where a file cannot be read, or where a text is not in it.
    """
    root, template = _split(path)
    plans, lines, chat, rounds, workers = (_Source(root / name) for name in _FILES)
    message = workers.within("_prepare_agent_messages")
    texts = [text for text in message.assigned("user_content") if text.strip()]
    return Wording(
        system=chat.one("the system message", chat.assigned("system_msg")),
        plan=plans.constant(f"ROUTING_QUESTION_FORMAT_{template}", "plan"),
        model=lines.one("the line of a masked model", lines.assigned("available_model_str"), "model"),
        prefill=chat.one("the beginning of the Conductor's answer", chat.contents("assistant")),
        later=rounds.constant(_LATER, "later"),
        task=message.one("the worker's task", texts, "task"),
        before="".join(text for text in texts if not _slots(text)),
        before_step=message.one("a step of the round before", texts, "before_step"),
        seen=message.one("an earlier step", texts, "seen"),
        own=message.one("the worker's own subtask", texts, "own"),
        begin=message.one("the beginning of the worker's answer", message.assigned("assistant_prompt")[:1]),
        origin=str(path),
    )


def _split(path: Path) -> tuple[Path, str]:
    name, _, template = str(path).partition("#")
    root = Path(name)
    return root / "conductor" if (root / "conductor" / _DATA).is_dir() else root, template or TRAINED


class _Source:
    """The string constants of a file, or of one function in it."""

    def __init__(self, path: Path, tree: ast.AST | None = None) -> None:
        self._path = path
        try:
            self._tree = tree or ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError) as error:
            reason = getattr(error, "strerror", None) or "it is no Python source"
            raise FormatError(
                f"{path} cannot be read: {reason}. Name a copy of github.com/junho328/orchestrator."
            ) from error

    def within(self, function: str) -> _Source:
        """The function of that name."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.FunctionDef) and node.name == function:
                return _Source(self._path, node)
        raise self._without(f"the function {function}")

    def constant(self, name: str, template: str) -> str:
        """The template that is assigned to a name of this file, in whatever case."""
        texts = [text for assigned, text in self._assigned() if assigned.casefold() == name.casefold()]
        return self.one(name, texts, template)

    def assigned(self, name: str) -> list[str]:
        """The texts that are assigned to the name or added to it, in the order of the file."""
        return [text for assigned, text in self._assigned() if assigned == name]

    def contents(self, role: str) -> list[str]:
        """The contents of messages of that role."""
        texts = []
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Dict):
                keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
                values = dict(zip(keys, map(_text, node.values), strict=True))
                if values.get("role") == role and values.get("content") is not None:
                    texts.append(str(values["content"]))
        return texts

    def one(self, what: str, texts: Sequence[str], template: str | None = None) -> str:
        """The one text that has the slots of this template, without one the only text."""
        fitting = [text for text in texts if template is None or _slots(text) == SLOTS[template]]
        if len(fitting) != 1:
            slots = f" with the slots {', '.join(sorted(SLOTS[template]))}" if template else ""
            raise self._without(f"one text for {what}{slots}")
        return fitting[0]

    def _assigned(self) -> Iterator[tuple[str, str]]:
        nodes = (node for node in ast.walk(self._tree) if isinstance(node, ast.Assign | ast.AugAssign))
        for node in sorted(nodes, key=lambda node: node.lineno):
            target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            text = _text(node.value)
            if isinstance(target, ast.Name) and text is not None:
                yield target.id, text

    def _without(self, what: str) -> FormatError:
        return FormatError(
            f"{self._path} does not have {what}; take the copy of the repository that the weights were "
            "published with."
        )


def _text(node: ast.expr) -> str | None:
    """A text, or an f-string as the template for `str.format`; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    pieces = []
    for piece in node.values:
        if isinstance(piece, ast.Constant):
            pieces.append(str(piece.value).replace("{", "{{").replace("}", "}}"))
        elif isinstance(piece, ast.FormattedValue):
            pieces.append(f"{{{ast.unparse(piece.value)}}}")
    return "".join(pieces)


def _slots(text: str) -> frozenset[str]:
    try:
        return frozenset(slot for _, slot, _, _ in Formatter().parse(text) if slot is not None)
    except ValueError:
        return frozenset(("",))
