"""The one reader of thoughts: separates what a model thought from what it answers, whole or while it streams.

A table has the marks that open models, their servers and their fine tunes write. Pure; knows the text alone:
fields of a reply are the endpoint's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple


class TextPiece(NamedTuple):
    """A stretch of a text, `at` so many characters from its beginning.

    "recalled" has no text: the last `at` characters that were answer are thoughts, whose opening mark stood
    in the prompt or further up.
    """

    kind: Literal["answer", "thought", "recalled"]
    text: str
    at: int


# -- the marks ---------------------------------------------------------------------------------------


class _Literals:
    """Searches for any of some texts, without case; none begins another."""

    def __init__(self, *literals: str) -> None:
        self.pattern = re.compile("|".join(map(re.escape, literals)), re.IGNORECASE)
        self._beginnings = {text[:end] for text in literals for end in range(1, len(text))}
        self._first = {beginning for beginning in self._beginnings if len(beginning) == 1}
        self._longest = max(map(len, literals))

    def undecided(self, text: str, at: int) -> int:
        """The first place from `at` on where one of them could begin that is not whole, else the end."""
        for place in range(max(at, len(text) - self._longest + 1), len(text)):
            if text[place].lower() in self._first and text[place:].lower() in self._beginnings:
                return place
        return len(text)


@dataclass(frozen=True)
class _Mark:
    """Thoughts between one of `opens` and one of `closes`, all in small letters.

    `leads`: an ordinary text otherwise, it opens at the very beginning only. `alone`: a close without its
    opening counts.
    """

    opens: tuple[str, ...]
    closes: tuple[str, ...]
    leads: bool = False
    alone: bool = False

    @cached_property
    def literals(self) -> _Literals:
        return _Literals(*self.closes, *self.opens)


_HEAD = re.compile(
    r"<\|(?:start|channel)\|>(?P<channel>.{0,200}?)<\|message\|>"
    r"|<details(?P<box>[^>\n]{0,200}>(?:\s{0,9}<summary>[^<]{0,80}</summary>)?)",
    re.IGNORECASE | re.DOTALL,
)
"""The head of a message in OpenAI's harmony format, and of a box as Open WebUI and Dify write it."""
_HEADS = ("<|start|>", "<|channel|>", "<details")
_LONGEST_HEAD = 330
_UNSPOKEN = re.compile(r"analysis|to=(?!user)", re.IGNORECASE)
_BOXED = re.compile(r'type="reasoning"|<summary>\s*(?:thinking|thoughts?|reasoning)\b', re.IGNORECASE)
_CALL = "to=functions."
"""The recipient of a call of a tool: it stays in the answer, for what reads calls."""
_ENDS = ("<|end|>", "<|return|>", "<|call|>", "<|eom|>", "<|eot|>")
_HARMONY = _Mark((), (*_ENDS, *_HEADS[:2]))
_BOX = _Mark((), ("</details>",))
_TAGS = (
    "think", "thinking", "thought", "thoughts", "reason", "reasoning", "think_fast", "think_faster",
    "seed:think", "mm:think", "hy:think", "longcat_think", "antthinking", "thought_process", "scratchpad",
    "reflection", "inner_monologue",
)  # fmt: skip
_WORDS = ("think", "thinking", "thought", "reasoning", "reasoning_thinking")
_PAIRS = (
    *((f"[{word}]", f"[/{word}]") for word in _WORDS[:2]),  # Magistral
    *((f"<|{word}_start|>", f"<|{word}_end|>") for word in _WORDS),  # Llama, CWM
    *((f"<|{word}:start|>", f"<|{word}:end|>") for word in _WORDS),  # Solar Open 2
    *((f"<|begin_of_{word}|>", f"<|end_of_{word}|>") for word in _WORDS),  # Sky-T1, OpenThinker
    ("[unused16]", "[unused17]"), ("<|thinking|>", "<|/thinking|>"),  # openPangu
    ("◁think▷", "◁/think▷"), ("<|inner_prefix|>", "<|inner_suffix|>"),  # Kimi-VL, Apertus
    ("<|channel>thought", "<channel|>"), ("<|im_start|>think", "<|im_start|>answer"),  # Gemma 4, s1
    ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    ("<start_working_out>", "<end_working_out>"),  # Unsloth's notebooks
)  # fmt: skip
_MARKS = (
    *(_Mark((f"<{tag}>",), (f"</{tag}>",), alone=True) for tag in _TAGS),
    *(_Mark((opens,), (closes,), alone=True) for opens, closes in _PAIRS),
    # Of Kimi K3 and Command A thoughts end where an answer begins, too; Solar Open.
    _Mark(("<|open|>think<|sep|>",), ("<|close|>think<|sep|>", "<|open|>response<|sep|>"), alone=True),
    _Mark(
        ("<|start_thinking|>", "<|begin_thinking|>"),
        ("<|end_thinking|>", "<|start_response|>", "<|start_text|>"),
        alone=True,
    ),
    _Mark(("<|think|>",), ("<|/think|>", "<|end|><|begin|>assistant<|content|>"), alone=True),
    _Mark((), ("assistantfinal", "assistantcommentary"), alone=True),  # harmony without its special tokens
    _Mark(("/think\n",), ("<|im_end|>\n<|im_start|>assistant\n",), leads=True),  # HyperCLOVA X SEED
    _Mark(("<|content_thinking|>",), ("<|end_message|>",)),  # Inkling
    _Mark(("to=self<|message|>",), (*_ENDS, *_HEADS[:2]), leads=True),  # Muse behind a head in the prompt
    _Mark(("here are my reasoning steps:",), ("[begin final response]",), leads=True, alone=True),  # Apriel
    *(  # Granite 3.2
        _Mark((f"{here} my thought process:",), ("here is my response:", "here's my response:"), leads=True)
        for here in ("here is", "here's")
    ),
    _Mark(("thinking...\n",), ("...done thinking.",), leads=True),  # Ollama's terminal
    _Mark(("## thinking\n",), ("## final response\n",), leads=True),  # HuatuoGPT-o1
    *(  # GLM-Z1, as Cherry Studio reads it
        _Mark((f"###{blank}thinking\n",), (f"###{blank}response\n",), leads=True) for blank in ("", " ")
    ),
)
_ANSWERS = (
    "<|begin_of_solution|>", "<|message_model|>", "<|content_text|>", "<|begin_of_box|>",
)  # fmt: skip
"""Marks that open an answer, anywhere."""
_TAGGED = ("<answer>", "<response>", "<output>", "<final_answer>", "<solution>", "<conclusion>")
"""Tags that open an answer directly behind thoughts; elsewhere they are what was asked for."""
_LASTS = (
    *_ENDS, "<|close|>response<|sep|>", "<|close|>message<|sep|>", "<|end_response|>", "<|end_text|>",
    "<|end_of_solution|>", "[end final response]", "<|end_message|>", "<|content_model_end_sampling|>",
    "<|plamo:tag|>", "<|end_of_box|>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<｜end▁of▁sentence｜>",
)  # fmt: skip
"""Marks that end an answer, behind another mark."""

_OPENING = {text: mark for mark in _MARKS for text in mark.opens}
_ALONE = tuple(text for mark in _MARKS if mark.alone for text in mark.closes)
_OPENS = tuple(text for text, mark in _OPENING.items() if not mark.leads)
_LEADS = tuple(text for text, mark in _OPENING.items() if mark.leads)
_SURE = (*_OPENS, *_ALONE, *_ANSWERS, *_LASTS, *_HEADS)
_IN_ANSWER = _Literals(*_SURE, *_TAGGED, *(tag.replace("<", "</") for tag in _TAGGED))
_AT_START = _Literals(*_SURE, *_OPENING)
_IN_PROMPT = _Mark(_OPENS, _ALONE)
ANY_MARK = re.compile("|".join(map(re.escape, _SURE)), re.IGNORECASE)
"""Any mark that counts wherever it stands; a text that is to be read as it is breaks it."""

# -- code --------------------------------------------------------------------------------------------

_RUNS = re.compile(r"`+|~+|\n|[^`~\n]+")
_INDENT = " \t>-*+.)0123456789"


class _Code:
    """Whether the place reached in a Markdown text is in code: in a fence, or between ticks of one line."""

    def __init__(self) -> None:
        self._fence = self._ticks = self._run = ""
        self._line_begins, self._fence_line = True, False

    def read(self, text: str) -> None:
        for piece in _RUNS.findall(text):
            if piece[0] in "`~":
                if not self._run.startswith(piece[0]):
                    self._decide()
                self._run += piece
                continue
            self._decide()
            if piece == "\n":
                self._ticks, self._line_begins, self._fence_line = "", True, False
            else:
                self._line_begins = self._line_begins and not piece.strip(_INDENT)

    def is_open(self) -> bool:
        self._decide()
        return bool(self._fence or self._ticks)

    def _decide(self) -> None:
        run, self._run = self._run, ""
        if not run:
            return
        if self._fence:
            if run.startswith(self._fence) and (self._line_begins or self._fence_line):
                self._fence = ""
        elif len(run) >= 3 and self._line_begins:
            self._fence, self._fence_line = run, True
        elif run[0] == "`" and self._ticks in ("", run):
            self._ticks = "" if self._ticks else run
        self._line_begins = False


# -- the reader --------------------------------------------------------------------------------------

_MOST_BLANKS = 64


class _Turn(NamedTuple):
    """What a mark changes: the text before it goes up to `upto`, and goes on at `at`, with thoughts of `mark`
    or, if it is None, with the answer.
    """

    upto: int
    at: int
    mark: _Mark | None
    recalls: bool = False


class ThoughtReader:
    """Reads one text in any pieces, in time linear in its length; `in_prompt`: it begins within thoughts.

    Blanks behind a mark are no part of the answer if it has nothing before them. Marks in Markdown's code
    are text. A close without its opening makes all before it thoughts.
    """

    def __init__(self, *, in_prompt: bool = False) -> None:
        self.recalled = False
        """Whether thoughts ended that the text had not opened."""
        self._mark = _IN_PROMPT if in_prompt else None
        self._held, self._at = "", 0
        self._begins = self._skips = self._mark is None
        self._lead = ""
        self._marked = self._thinks = self._spoken = self._ends_blank = False
        self._nested, self._answered, self._before = 0, 0, (0, False, True)
        self._tag = self._previous = ""
        self._code = _Code()

    @property
    def answering(self) -> bool | None:
        """Whether the answer has begun; None while that is not certain."""
        if self._mark is _IN_PROMPT or (self._mark is None and self._begins):
            return None
        return self._mark is None and self._spoken

    def feed(self, text: str) -> list[TextPiece]:
        """The next piece of text; what of it is certain."""
        self._held += text
        return list(self._read(ends=False))

    def end(self) -> list[TextPiece]:
        pieces = list(self._read(ends=True))
        if self._begins and self._lead:
            pieces.append(TextPiece("answer", self._lead, 0))
        return pieces

    def _read(self, *, ends: bool) -> Iterator[TextPiece]:
        text, at = self._held, 0
        while at < len(text):
            if self._skips and (at := self._behind_blanks(text, at)) == len(text):
                break
            literals = self._mark.literals if self._mark else _AT_START if self._begins else _IN_ANSWER
            match = literals.pattern.search(text, at)
            upto = match.start() if match else len(text) if ends else self._certain(literals, text, at)
            if self._mark is None:
                self._code.read(text[at:upto])
            turn = None if match is None else self._turn(text, at, match, ends=ends)
            if turn is None:
                yield from self._piece(text, at, upto)
                at = upto
                break
            if self._mark is None:
                self._code.read(text[upto : turn.upto])
            yield from self._piece(text, at, turn.upto)
            if turn.recalls:
                yield from self._recall()
            if turn.mark is not None and turn.mark is not self._mark:
                self._nested, self._before = 0, (self._answered, self._spoken, self._ends_blank)
            if turn.upto != turn.at or turn.mark is not self._mark:
                self._thinks = self._thinks and turn.mark is self._mark
                self._marked, self._begins = True, False
                self._skips = turn.mark is None and not (self._spoken and not self._ends_blank)
            self._mark, at = turn.mark, turn.at
        self._held, self._at = text[at:], self._at + at

    def _behind_blanks(self, text: str, at: int) -> int:
        rest = text[at:].lstrip()
        self._skips = not rest
        if self._begins:
            self._lead += text[at : len(text) - len(rest)]
        return len(text) - len(rest)

    def _certain(self, literals: _Literals, text: str, at: int) -> int:
        """Up to where the text is no part of a mark, nor the blanks before the end of an answer."""
        if literals is _AT_START and not any(lead.startswith(text[at:].lower()) for lead in _LEADS):
            literals = _IN_ANSWER
        upto = literals.undecided(text, at)
        if self._mark is None and self._marked:
            stripped = at + len(text[at:upto].rstrip())
            return stripped if upto - stripped <= _MOST_BLANKS else upto
        return upto

    def _piece(self, text: str, at: int, upto: int) -> Iterator[TextPiece]:
        if at == upto:
            return
        part, place = text[at:upto], self._at + at
        self._previous = part[-1]
        if self._mark is not None:
            self._thinks = self._thinks or not part.isspace()
            yield TextPiece("thought", part, place)
            return
        if self._begins:
            part, place = self._lead + part, 0
        self._begins, self._spoken = False, self._spoken or not part.isspace()
        self._answered, self._ends_blank = self._answered + len(part), part[-1].isspace()
        yield TextPiece("answer", part, place)

    def _recall(self) -> Iterator[TextPiece]:
        """Back to where thoughts with others inside them began, or to the beginning."""
        self.recalled = self.recalled or (self._spoken and not self._nested)
        before, spoken, blank = self._before if self._nested else (0, False, True)
        self._nested = max(0, self._nested - 1)
        if self._answered > before:
            yield TextPiece("recalled", "", self._answered - before)
        self._answered, self._spoken, self._ends_blank = before, spoken, blank

    def _turn(self, text: str, at: int, match: re.Match[str], *, ends: bool) -> _Turn | None:
        """What the mark changes, perhaps nothing; None if what follows it must come first."""
        if self._mark is None:
            return self._in_answer(text, at, match, ends=ends)
        literal, start, end = match[0].lower(), *match.span()
        if (text[start - 1] if start > at else self._previous) == "`":
            if end == len(text) and not ends:
                return None
            if text[end : end + 1] == "`":
                return _Turn(end, end, self._mark)
        if literal in _OPENING:
            # At once it repeats the one in the prompt.
            self._nested += self._thinks or bool(text[at:start].strip())
            return _Turn(start, end, self._mark)
        self.recalled = self.recalled or self._mark is _IN_PROMPT
        return _Turn(start, start if literal in _HEADS else end, None)

    def _in_answer(self, text: str, at: int, match: re.Match[str], *, ends: bool) -> _Turn | None:
        literal, start, end = match[0].lower(), *match.span()
        plain = _Turn(end, end, None)
        if self._code.is_open():
            return plain
        before, mark = text[at:start], _OPENING.get(literal)
        if literal in _HEADS:
            head = _HEAD.match(text, start)
            channel, is_box = head and head["channel"], head and _BOXED.search(head["box"] or "")
            if channel is None and not is_box:
                return None if not ends and len(text) - start < _LONGEST_HEAD else plain
            assert head is not None, "one of its groups matched"
            if (call := text.find(_CALL, start, head.end())) >= 0:
                return _Turn(start, call, None)
            mark = _BOX if channel is None else _HARMONY if _UNSPOKEN.search(channel) else None
            return _Turn(start, head.end(), mark)
        if mark is not None and not (mark.leads and not (self._begins and start == at)):
            return _Turn(start, end, mark)
        if literal in _ALONE:
            return _Turn(start, end, None, recalls=True)
        if literal in _TAGGED and self._marked and not (self._spoken or self._tag or before.strip()):
            self._tag = literal.replace("<", "</")
            return _Turn(start, end, None)
        if literal in _ANSWERS:
            return _Turn(start, end, None)
        if literal == self._tag or (self._marked and literal in _LASTS):
            return _Turn(at + len(before.rstrip()), end, None)
        return plain


def read_thoughts(text: str, *, goes_on: bool = False) -> list[TextPiece]:
    """A text's pieces: what is answer and what is thought; marks are in none of them. Of one that `goes_on`,
    what is certain.
    """
    reader, pieces = ThoughtReader(), list[TextPiece]()
    for piece in (*reader.feed(text), *(() if goes_on else reader.end())):
        if piece.kind != "recalled":
            pieces.append(piece)
            continue
        left, place = piece.at, len(pieces)
        while left:
            place -= 1
            left -= len(pieces[place].text) if pieces[place].kind == "answer" else 0
            pieces[place] = pieces[place]._replace(kind="thought")
    return pieces


def answer_in_full(text: str, *, goes_on: bool = False) -> str:
    """The text without thoughts and their marks; see `read_thoughts`."""
    return "".join(piece.text for piece in read_thoughts(text, goes_on=goes_on) if piece.kind == "answer")
