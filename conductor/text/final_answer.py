"""The answer that a response ends with. Pure.

Reads what models are commonly asked to write: a last `\\boxed{...}`, a last "Answer: ..." line, a sentence
"the answer is ...". Knows neither questions nor right answers, and not which answers are the same.
"""

from __future__ import annotations

import re

from conductor.errors import FormatError
from conductor.text.json_text import parsed
from conductor.text.thoughts import answer_in_full

# Each takes the rest of its line as it is: what must be trimmed there would be tried at every character.
_WORDS = (
    "answer|solution|antwort|lösung|réponse|respuesta|risposta|resposta|odpowiedź|cevap|ответ|відповідь|jawaban|"
    "jibu|trả lời|đáp án|คำตอบ|उत्तर|উত্তর|సమాధానం|答案|答え|解答|回答|正解|정답|답변|답|الإجابة|الجواب|תשובה|"
    "svar|vastaus|antwoord|odpověď|odgovor|răspuns|válasz|απάντηση|پاسخ"
)
"""An answer's label: the languages of MGSM and of simple-evals, and a few more."""
_BEST = "final|correct|right|best|endgültige|richtige|最終的な|最终|最終|正确|故"
_AFTER = r"(?:[ _](?:finale?|correct[ae]|corretta|correta))?"
_DISPLAY = r"(?:(?:\$\$|\\\[)[ \t]*\n\s*)?"
"""The line that opens a formula of its own, as "$$" does."""
ANSWER_LINE = re.compile(
    r"^[^\w\n]*(?:\d{1,3}[.)][^\w\n]*)?(?:text(?:bf)?\{)?(?:the |my )?"
    rf"(?:(?:{_BEST})[ _]?)?(?:{_WORDS}|choice|选|選){_AFTER}"
    rf"[^\w\n<>!≤≥≠≈]*?(?:[-=]>|[:：=—–|→⇒]|\s-\s)(?:\*{{1,3}}|\s*\*{{2,3}}(?=\s))?[}}\s]*{_DISPLAY}([^}}\s].*)",
    re.IGNORECASE | re.MULTILINE,
)
_VERBS = r"is|ist|lautet|est|es|è|é|ni|adalah|là"
ANSWER_SENTENCE = re.compile(
    rf"(?:\b(?:{_WORDS}|result|correct option){_AFTER}(?: to (?:the|this|your) \w{{1,20}})? (?:{_VERBS}):?\s+"
    r"(?:(?:therefore|thus|then|hence|simply|clearly|indeed),?\s+)?"
    rf"|\bthe (?:(?:{_BEST}) )?answer (?:would|should|must) be\s+"
    r"|(?:答案|答え|回答|正解)(?:是|为|為|は|选项为|选|選)[:：]?\s*|คำตอบคือ\s*|정?답은\s*"
    r"|(?:^|[，,。])(?:故|应|所以)?[选選]\s*)"
    rf"{_DISPLAY}(\S.*)",
    re.IGNORECASE | re.MULTILINE,
)
_WEAK = re.compile(
    r"(?:[→⇒⟹➜➡👉✅∴\ufe0f\s]|=>|>>>){0,9}"
    r"(?:[^\w\n]{0,9}?(?:my )?(?:(?:final )?result|output|conclusion|(?:end)?ergebnis|résultat|resultado"
    r"|risultato|结果|結果|결과|ans|final|verdict|decision|prediction|response|selected|value|total)\b"
    r"[^\w\n<>]{0,4}?[:：=][*\s]*|(?:thus|hence|therefore|so)[,:]\s+|ans\.\s|#{4}\s*)?",
    re.IGNORECASE,
)
"""What is no part of an answer at the beginning of the last line; further up it may be a step's."""
_TAGGED = re.compile(
    r"(?:<((?:(?:final|selected|chosen|correct)_?)?(?:answer|ans|result|solution|output|final|choice|option|letter"
    r"|selection|prediction|response|number))>([^<]*)</\1>|\[(answer)\](.{0,500}?)\[/answer\])(?![`\"”]\s*\w)",
    re.IGNORECASE | re.DOTALL,
)
"""Behind a tick or a quotation mark and a word it is only spoken of."""
_FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(
    r"^[^\n]{0,200}?(?:\bexamples?\b|\be\.g\.|\bfor instance\b|\bformat\b|例)[^\n]{0,200}\n\s*"
    r"(?:^[ \t]*>[^\n]*(?:\n|\Z))+",
    re.IGNORECASE | re.MULTILINE,
)
"""A quotation that is an example by the line before it."""
_MENTIONED = re.compile(r"`[^`\n]*`[ \t]*(?=\w)|\"[^\"\n]*\"[ \t]*(?=\w)|“[^”\n]*”[ \t]*(?=\w)")
"""The beginning of a line that only speaks of what it quotes."""
_ENDS = re.compile(r"(?:(?:<[|｜][\w▁]{1,30}[|｜]>|</s>|<end_of_turn>)\s{0,9}){1,3}\Z")
"""Tokens that end a text, where a server hands them on."""
_BEHIND = re.compile(r"(?:です|입니다)?。.*|(?:です|입니다)\.?\Z|(?:\.|\$) *I hope .*")
_BOXED = re.compile(r"\\(?:boxed|fbox|framebox)\s*\{")
_BOXED_WORD = re.compile(r"\\boxed +([^\s{}$\\]+)")
_SPOKEN_OF = re.compile(r"\$?[`\"”]\s*\w")
_BRACE = re.compile(r"[{}]")
_RULE = re.compile(r"-{3,}|\*{3,}|_{3,}|`{3,}|~{3,}|\$\$|\\\]")
"""A line that only ends what stands before it, as a formula of its own."""
_OBJECT = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_FIELDS = tuple(
    re.compile(rf"(?:(?:final|correct|right|best|selected|chosen)[ _-]?)?(?:{names})", re.IGNORECASE)
    for names in (
        "answer|solution|choice",
        "option|letter|selection|prediction|result|response|output|final|value",
    )
)
"""The names of a field that is an answer, and of one that is where no other is."""
_OPENED = re.compile(r"[^\w\n]*?(\*{1,3})(?=\w)")
_EMPHASIZED = re.compile(r"(\*{1,3})([^*]+)\1\Z")

ENDING = 20_000
"""A response's last characters, in which its answer is looked for."""

ASK = 'End with a line "Answer: " and '
"""How the last line of a question begins that asks for an answer that can be found in its response."""

NO_ANSWER = "No answer: "
"""How the last line of a response begins that declines to answer, as workers that compute write it."""

NOT_CHECKED = " (not checked)"
"""How they mark an answer that has no second way; no part of the answer."""


def without_ask(question: str) -> str:
    """The question without a last line that asks for the form of its answer."""
    before, line, last = question.rpartition("\n")
    return before.rstrip() if line and last.startswith(ASK) else question


def final_answer(response: str) -> str:
    """The answer of a response, without the words around it; "" where it is empty or declines to answer.

    The last box counts before the last `<answer>`, this before the field `answer` of a JSON object at the
    end, this before the last "Answer:" line, this before the last sentence with "the answer is", and this
    before the last line that is not empty. Thoughts hold no answer, and a fence only where nothing else does.
    Only the last `ENDING` characters of a response are read.
    """
    response = _own(response)
    # What stands in a fence is an example, unless nothing else is there.
    for text in (_FENCED.sub("", response), _FENCED.sub(r"\2", response)):
        lines = (line.strip() for line in reversed(text.split("\n")))
        last = next((line for line in lines if line and not _RULE.fullmatch(line)), "")
        if last.startswith(NO_ANSWER):
            return ""
        if (boxed := _last_boxed(text)) is not None:
            return boxed.strip()
        if tagged := _TAGGED.findall(text):
            return _bare(tagged[-1][1] or tagged[-1][3])
        if (field := _answer_field(text)) is not None:
            return field
        if (labelled := labelled_answer(text)) is not None:
            return labelled
    return _bare(last[begins.end() :] if (begins := _WEAK.match(last)) else last)


def own_words(response: str) -> str:
    """The last `ENDING` characters of a response without thoughts, without what it quotes as an example, and
    without what stands in a fence.
    """
    return _FENCED.sub("", _own(response))


def _own(response: str) -> str:
    response = _ENDS.sub("", answer_in_full(response[-ENDING:]))
    own = _EXAMPLE.sub("", response)
    return own if own.strip() else response


def labelled_answer(text: str) -> str | None:
    """The answer of the last "Answer:" line, else of the last sentence with "the answer is", else None."""
    for pattern in (ANSWER_LINE, ANSWER_SENTENCE):
        matches = [match for match in pattern.finditer(text) if not _MENTIONED.match(match[0])]
        if matches:
            match = matches[-1]
            within = ANSWER_SENTENCE.findall(match[1])
            opened = _OPENED.match(match[0])
            return _bare(within[-1] if within else match[1], opened="**" if opened is None else opened[1])
    return None


def _answer_field(text: str) -> str | None:
    """The value of the last field that is named as an answer, of a JSON object with which a text ends."""
    begins = _OBJECT.search(text) if text.rstrip().endswith("}") else None
    try:
        fields = {} if begins is None else parsed(text[begins.end() :], where="the answer")
    except FormatError:
        return None
    named = ([value for name, value in fields.items() if field.fullmatch(name)] for field in _FIELDS)
    value = next((values[-1] for values in named if values), None)
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    return str(value).strip() if isinstance(value, str | int | float) else None


def _last_boxed(response: str) -> str | None:
    """What the last box with closed braces holds."""
    boxes = {match.end() for match in _BOXED.finditer(response)}
    opened: list[int] = []
    last, ends = -1, 0
    for brace in _BRACE.finditer(response):
        if brace[0] == "{":
            opened.append(brace.end())
        elif (
            opened
            and (begins := opened.pop()) in boxes
            and begins > last
            and not _SPOKEN_OF.match(response, brace.end())
        ):
            last, ends = begins, brace.start()
    if last < 0:
        return words[-1] if (words := _BOXED_WORD.findall(response)) else None
    return response[last:ends]


def _bare(line: str, opened: str = "**") -> str:
    """The line without the end of a table's row, of a sentence or of JSON, and without emphasis of all of it,
    which may begin before it with the mark `opened`.
    """
    line = _BEHIND.sub("", _unemphasized(line, opened).removesuffix(NOT_CHECKED))
    line = line.rstrip().removesuffix("|") if line.count("|") % 2 else line
    line = line.rstrip()
    line = _unemphasized(line if line.endswith("..") else line.removesuffix("."), opened)
    return line.rstrip("}").strip('"') if line.endswith("}") and "{" not in line else line


def _unemphasized(line: str, opened: str) -> str:
    line = line.strip()
    if line.endswith(opened) and line.count(opened) % 2:
        line = line.removesuffix(opened)
    emphasized = _EMPHASIZED.match(line)
    return line.strip() if emphasized is None else emphasized[2].strip()
