"""The grammar of everyday questions: built once from `question.lark`, narrowed to the words of each question.

Knows Lark and the names that the grammar's file leaves open; not what a rule means.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from pathlib import Path

from lark import Lark, Token, Tree
from lark.exceptions import LarkError, UnexpectedCharacters
from lark.grammar import Rule, Symbol, Terminal

from conductor.workers.offline.countries import country_names, value_names
from conductor.workers.offline.questions.meanings.quantity import units

_LITERAL = r'"[^"\n]*"'
_GROUP = re.compile(rf"\((\s*{_LITERAL}(?:\s*\|\s*{_LITERAL})+\s*)\)")
_WORDS = re.compile(rf"^_(\w+):((?:\s*\|?\s*{_LITERAL})+)$", re.MULTILINE)
_ANY_WORD = ("xyzzy ", "Xyzzy ")
"""A terminal that takes these takes any word, in small letters or with a capital one."""

_BUILDING = threading.Lock()


class Grammar:
    """Reads words by those rules alone whose terminals all occur in them.

    Earley's algorithm tries every rule at every word. Of 1,800 rules a question can use some 350, and is read
    in a tenth of the time.
    """

    def __init__(self) -> None:
        source, self._literals = _source()
        self._lark = Lark(
            source, parser="earley", lexer="dynamic", ambiguity="explicit", maybe_placeholders=False
        )
        self._patterns: dict[str, re.Pattern[str]] = {}
        for each in self._lark.terminals:
            if each.pattern.type == "str":
                self._literals[each.name] = [each.pattern.value]
            elif each.name not in self._literals:
                self._patterns[each.name] = re.compile(rf"(?<!\S){each.pattern.to_regexp()}")
        self.rules: Sequence[Rule] = self._lark.rules
        self._users: dict[Symbol, list[int]] = defaultdict(list)
        for at, rule in enumerate(self.rules):
            for symbol in set(rule.expansion):
                self._users[symbol].append(at)
        self._needed = [len(set(rule.expansion)) for rule in self.rules]
        self._terminals = [symbol for symbol in self._users if isinstance(symbol, Terminal)]

    def parse(self, words: str) -> Tree[Token]:
        """All readings of the words as one tree. Raises `LarkError` where there is none."""
        earley = copy(self._lark.parser.parser)
        earley.predictions = self._usable(words)
        tree: Tree[Token] = earley.parse(words, "start")
        return tree

    def unknown(self, words: str) -> list[str]:
        """The words that stand in no rule and are no number, in their order."""
        known = {word for literals in self._literals.values() for each in literals for word in each.split()}
        for pattern in self._patterns.values():
            if not any(map(pattern.fullmatch, _ANY_WORD)):
                known.update(word for match in pattern.finditer(words) for word in match[0].lower().split())
        return [word for word in dict.fromkeys(words.split()) if word.isalpha() and word.lower() not in known]

    def unread(self, words: str) -> str:
        """The end of the words, from the first one that continues no reading; empty where all are read."""
        try:
            self._lark.parse(words)
        except UnexpectedCharacters as error:
            return words[error.pos_in_stream :].strip(" .")
        except LarkError:
            pass
        return ""

    def _usable(self, words: str) -> Mapping[Symbol, Sequence[Rule]]:
        """The rules that these words can complete, by what they define."""
        spaced = f" {words.lower()}"
        found: list[Symbol] = [each for each in self._terminals if self._occurs(each.name, words, spaced)]
        usable: dict[Symbol, list[Rule]] = defaultdict(list)
        missing = self._needed.copy()

        def complete(at: int) -> None:
            rule = self.rules[at]
            if rule.origin not in usable:
                found.append(rule.origin)
            usable[rule.origin].append(rule)

        for at, count in enumerate(missing):
            if not count:
                complete(at)
        while found:
            for at in self._users[found.pop()]:
                missing[at] -= 1
                if not missing[at]:
                    complete(at)
        return usable

    def _occurs(self, terminal: str, words: str, spaced: str) -> bool:
        literals = self._literals.get(terminal)
        if literals is None:
            return bool(self._patterns[terminal].search(words))
        return any(f" {each}" in spaced for each in literals)


def prepare() -> None:
    """Build the grammar in a thread of its own, so that the first question does not wait for it."""
    threading.Thread(target=grammar, name="questions", daemon=True).start()


def grammar() -> Grammar:
    """The grammar, ready; the first call takes 0.7 s of a processor."""
    with _BUILDING:
        return _built()


_built = cache(Grammar)


def _source() -> tuple[str, dict[str, list[str]]]:
    """The grammar as Lark reads it, and the words of each terminal that stands for some of them."""
    text = Path(__file__).with_name("question.lark").read_text(encoding="utf-8")
    text = re.sub(r"^//.*$", "", text, flags=re.MULTILINE)
    named = {"UNIT": units(), "COUNTRY": country_names()}
    named |= {"CURRENCY": value_names("currency"), "LANGUAGE": value_names("languages")}
    for name, values in named.items():
        text = text.replace(f"@{name}@", f"(?:{'|'.join(_escaped(values))})")
    terminals: dict[str, list[str]] = {}

    def terminal(body: str, name: str) -> str:
        terminals[name] = re.findall(r'"([^"\n]*)"', body)
        return name

    # Words that may stand for each other are one terminal: as rules they would be one rule for each of their
    # combinations.
    for match in _WORDS.finditer(text):
        terminal(match[2], f"_{match[1].upper()}")
        text = re.sub(rf"(?<!\w)_{match[1]}(?!\w)", f"_{match[1].upper()}", text)
    text = _WORDS.sub("", re.sub(r"^_[A-Z_]+:(?:\s*\|?\s*\"[^\"\n]*\")+$", "", text, flags=re.MULTILINE))
    text = _GROUP.sub(lambda match: terminal(match[1], f"_T{len(terminals)}"), text)
    # What may be left out is a rule of its own, which may be empty, for the same reason.
    text = re.sub(_LITERAL + r"(?=\?)", lambda match: terminal(match[0], f"_T{len(terminals)}"), text)
    left_out = dict.fromkeys(re.findall(r"(?<!\w)_([A-Z0-9_]+)\?", text))
    text = re.sub(r"(?<!\w)_([A-Z0-9_]+)\?", lambda match: f"_may_{match[1].lower()}", text)
    text += "".join(f"\n_may_{name.lower()}: _{name} |" for name in left_out)
    text = re.sub(r'("[^"\n]*")(?!i)', r"\1i", text)
    text += "".join(f"\n{name}: /(?:{'|'.join(_escaped(words))})/i" for name, words in terminals.items())
    return text, terminals


def _escaped(words: Iterable[str]) -> Iterator[str]:
    """The words in a regular expression of the grammar, the longest first."""
    return (re.escape(word).replace("/", r"\/") for word in sorted(set(words), key=len, reverse=True))
