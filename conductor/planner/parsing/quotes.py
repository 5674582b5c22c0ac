"""Reads one quoted text as Python, JSON or a careless model writes it.

Knows quotes and escapes, not lists: the caller gives what may follow a closing quote. Every search
that fails is cached, so reading stays linear however many quotes a hostile text opens.
"""

from __future__ import annotations

import re

from conductor.planner.parsing.literals import RepairKind, Text, repair
from conductor.workflow.plan_report import Repair, Span

_CORNERS = dict(zip("「『«»＂", "」』»«＂", strict=True))
DOUBLE = '"“”„‟' + "".join(_CORNERS)
SINGLE = "'‘’‚‛"
QUOTES = DOUBLE + SINGLE

_CLOSERS = {'"': '"', **dict.fromkeys("“”„‟", '"“”'), "'": "'", **dict.fromkeys(SINGLE[1:], "'‘’")} | _CORNERS
_STOPS = {closers: re.compile(rf"\\.|[{closers}]", re.DOTALL) for closers in set(_CLOSERS.values())}
_TRIPLES = {
    opener * 3: re.compile(rf"\\.|{opener * 3 if opener in closers[:1] else f'[{closers}]{{3}}'}", re.DOTALL)
    for opener, closers in _CLOSERS.items()
}
_QUOTE = re.compile(rf"\s*[{QUOTES}]")

_PAIR = r"\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
_CODE = r"\\(?:u(?P<u4>[0-9a-fA-F]{4})|U(?P<u8>[0-9a-fA-F]{8})|x(?P<x2>[0-9a-fA-F]{2})|(?P<octal>[0-7]{1,3}))"
_ESCAPE = re.compile(rf"{_PAIR}|{_CODE}|\\(?P<plain>\r\n|.)", re.DOTALL)
_PLAIN = {
    **dict(zip("nrtbfav", "\n\r\t\b\f\a\v", strict=True)),
    **{quote: quote for quote in QUOTES},
    "\\": "\\",
    "/": "/",
    "\n": "",
    "\r\n": "",
}


# A drive, a share, a folder or a variable with what follows it; what only a path has: "x:\\nThen" is none.
_RUN = re.compile(
    r"(?:(?<![^\W_])[A-Za-z]:|(?<![^\s\"'(`=])(?:\\\\[\w.$-]{1,80}(?=\\)|\.{1,2}|~|%\w{1,40}%|\$env:\w{1,40}))"
    # The escape of a letter, as this program writes "<" where thoughts would begin, is no folder.
    r"(?:\\(?!U0000[0-9a-fA-F]{4}|u00[0-9a-fA-F]{2})[\w.$%~-]+)+"
)
_FOLDER = re.compile(
    r"\A[%~$]|\\(?![ntr]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
    r"|\\(?:te?mp|tools?|tests?|repos?|reports?|results?|root|run|new|node|notes)(?![a-z])"
    r"|\.(?:txt|csv|jsonl?|py|md|exe|docx?|xlsx?|pdf|log|zip)\b"
)
_LINE_ENDS = re.compile(r"(?:\\\\)?[^\\]*(?:\\[ntr])+")
"""A name and line breaks or tabs behind it: no path, but "~" at the end of a line."""

# Commands of LaTeX whose first letter makes an escape; source: HKUDS/LightRAG#3238. The second list may begin
# a line or a cell as well ("\\nu" is a line that begins with u): a formula or the character before decides.
_LONG = (
    r"(?:(?:text|tan|tag)(?=\{)|text(?:bf|it|rm|tt|sf|sc|style|normal)|t(?:imes|heta|anh|frac|binom|ilde)"
    r"|t(?:riangle|hick)\w*|therefore|nabla|neq|not(?:in|ag)?|n(?:leq|geq|cong|sim)|n(?:sub|sup)set\w*"
    r"|n\w{0,9}arrow|newcommand|newline|nolimits|nonumber|normalsize)(?![A-Za-z])"
)
_SHORT = r"(?:tau|tan|top?|text|tag|title|tiny|tt|nu|ne|ni|neg|nmid|nexists|nparallel)(?![A-Za-z])"
_IN_FORMULA = re.compile(rf"(?<!\\)\\(?={_SHORT})")
_FORMULA = re.compile(
    r"\$(?=\S)[^$]{1,400}(?<=\S)\$(?!\d)"
    r"|(?<!\\)\\(?:\((?:[^\\]|\\(?!\))){1,400}\\\)|\[(?:[^\\]|\\(?!\])){1,400}\\\])"
)
_COMMAND = (
    rf"\\(?:[abfv0-7]|r(?=[a-z])|{_LONG}|(?<![^\s$(^_=+*/-]\\){_SHORT}|{_SHORT}(?=\\(?![ntr])[A-Za-z]|[_^{{]))"
    r"|(?<=[`'])(?:\\[ntr]){1,3}(?=[`'])"  # of an escape that is spoken of, alone in quotes
)
_ROWS = re.compile(r"\\\\(?=[\s\d&-]|\\[a-z]|[A-Za-z](?![A-Za-z])|\Z)")
"""The end of a matrix's row, where its commands have one backslash."""
_OPEN_ESCAPE = re.compile(r"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?(?:\\[A-Za-z0-9]{0,12})?\Z")
"""At the end of an unfinished text, an escape or a command of LaTeX that the next letters may change."""
_BACKSLASH = re.compile(rf"(?P<command>{_COMMAND})|{_ESCAPE.pattern}", re.DOTALL)

Quoted = tuple[Text, tuple[Repair, ...]]
"""A quoted text as it is meant, and what was loose in it."""


class QuoteReader:
    """Reads texts of one text; `marks` is it with ASCII punctuation, `as_python` its escapes are Python's."""

    def __init__(self, text: str, marks: str, *, as_python: bool = False) -> None:
        self._text = text
        self._marks = marks
        self._as_python = as_python
        self._barren: dict[tuple[str, re.Pattern[str]], tuple[int, int]] = {}

    def read(self, start: int, *, limit: int, after: re.Pattern[str], depth: int = 0) -> Quoted | None:
        """The text that opens at `start`, None when it does not close before `limit`.

        `after` matches what may follow a closing quote: in single and typographic quotes, a quote that it
        does not follow belongs to the text, and so does one before a `bracket`, its group, that may be the
        text's own: where not as many have closed as opened in it and, `depth`, in the texts before it. A
        double quote that it follows closes beyond `limit` as well, if it is the very next one: one that opens
        another text is not followed so.
        """
        triple = self._text[start : start + 3]
        quote = triple if triple in _TRIPLES else _CLOSERS[self._text[start]]
        searched = self._barren.get((quote, after))
        if searched is not None and searched[0] <= start < searched[1]:
            return None
        reading = (
            self._triple(start, quote) if quote in _TRIPLES else self._single(start, limit, after, depth)
        )
        if isinstance(reading, int):
            self._barren[quote, after] = (start, reading)
            return None
        return reading

    def read_so_far(self, start: int) -> Text:
        """What is written of the text that opens at `start` and does not close, up to what may yet change."""
        triple = self._text[start : start + 3]
        raw = self._text[start + (3 if triple in _TRIPLES else 1) :]
        if triple in _TRIPLES:
            raw = raw.rstrip(triple[0])
        whole = _OPEN_ESCAPE.search(raw, max(0, len(raw) - 20))
        span = (start, len(self._text))
        return self._literal(raw if whole is None else raw[: whole.start()], span)[0]

    def _triple(self, start: int, triple: str) -> Quoted | int:
        """The text in triple quotes, or the place up to which none closes."""
        for stop in _TRIPLES[triple].finditer(self._text, start + 3):
            if len(stop[0]) == 3:
                span = (start, stop.end())
                loose = repair("triple-quotes", f"a text in {triple} was read as one instruction", span)
                text, repairs = self._literal(self._text[start + 3 : stop.start()], span)
                return text, (loose, *repairs)
        return len(self._text)

    def _single(self, start: int, limit: int, after: re.Pattern[str], depth: int) -> Quoted | int:
        """The text in single, double or typographic quotes, or the place up to which none closes."""
        opener = self._text[start]
        double = opener == '"'
        inner, place = 0, start + 1
        for stop in _STOPS[_CLOSERS[opener]].finditer(
            self._text, start + 1, len(self._text) if double else limit
        ):
            if len(stop[0]) > 1:
                continue
            if double and stop.start() < limit:
                return self._quoted(start, stop.start(), inner)
            follows = after.match(self._marks, stop.end())
            if follows is not None and follows.lastgroup == "bracket":
                depth += brackets(self._text, place, stop.start())
                place = stop.start()
            if follows is not None and (follows.lastgroup != "bracket" or depth == 0):
                return self._quoted(start, stop.start(), inner)
            if double:
                return limit
            if self._next_opens(stop.end(), after):
                return stop.start()
            inner += 1
        return limit

    def _next_opens(self, at: int, after: re.Pattern[str]) -> bool:
        """Whether a quote ends at `at` and another text begins, without the comma between them.

        Two quotes in a row before a comma or bracket are a quotation that ends with its text: 'answer 'no''.
        """
        following = _QUOTE.match(self._text, at)
        if following is None:
            return False
        return following.end() > at + 1 or not after.match(self._marks, following.end())

    def _quoted(self, start: int, stop: int, inner: int) -> Quoted:
        raw = self._text[start + 1 : stop]
        span = (start, stop + 1)
        repairs: list[Repair] = []
        if self._text[start] not in "\"'":
            marks = f"{self._text[start]}...{self._text[stop]}"
            kind: RepairKind = "other-marks" if self._text[start] in _CORNERS else "typographic-quotes"
            repairs.append(repair(kind, f"{marks} was read as a quoted text", span))
        if inner and self._text[start] in SINGLE:
            repairs.append(
                repair("apostrophe", f"{inner} quote(s) inside a single-quoted text belong to it", span)
            )
        if "\n" in raw or "\r" in raw:
            repairs.append(repair("raw-newline", "a quoted text goes on over a line break", span))
        text, backslashes = self._literal(raw, span)
        return text, (*repairs, *backslashes)

    def _literal(self, raw: str, span: Span) -> Quoted:
        python = decoded(raw)
        value = python if self._as_python else literal_text(raw)
        if value == python:
            return Text(value, span), ()
        return Text(value, span), (
            repair("backslash", "backslashes in a text were read as themselves", span),
        )


def brackets(text: str, start: int, end: int) -> int:
    """How many more square brackets open than close in a stretch of a text."""
    return text.count("[", start, end) - text.count("]", start, end)


def decoded(raw: str) -> str:
    """The text that Python or JSON mean by `raw`; an unknown escape stays as it is written."""
    return _ESCAPE.sub(_character, raw) if "\\" in raw else raw


def literal_text(raw: str) -> str:
    """As `decoded`, but commands of LaTeX, paths and what no text needs stay as they are written.

    No form feed, bell, backspace or vertical tab is meant by an escape, and no number in octal digits.
    """
    if "\\" not in raw:
        return raw
    raw = _RUN.sub(lambda run: _doubled(run[0]) if _is_path(run[0]) else run[0], raw)
    if re.search(r"(?<!\\)\\begin\{", raw):
        raw = _ROWS.sub(lambda row: _doubled(row[0]), raw)
    raw = _FORMULA.sub(lambda formula: _IN_FORMULA.sub(r"\\\\", formula[0]), raw)
    return _BACKSLASH.sub(lambda escape: escape[0] if escape["command"] else _character(escape), raw)


def _is_path(run: str) -> bool:
    return bool(_FOLDER.search(run)) and not _LINE_ENDS.fullmatch(run)


def _doubled(path: str) -> str:
    return path.replace("\\", "\\\\")


def _character(escape: re.Match[str]) -> str:
    if escape["high"]:
        return bytes.fromhex(escape["high"] + escape["low"]).decode("utf-16-be")
    if escape["plain"]:
        return _PLAIN.get(escape["plain"], escape[0])
    digits = escape["u4"] or escape["u8"] or escape["x2"]
    code = int(digits, 16) if digits else int(escape["octal"], 8)
    return chr(code) if code <= 0x10FFFF else escape[0]
