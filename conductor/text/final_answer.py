"""The answer that a response ends with, and when two answers are the same one. Pure.

Reads what models are commonly asked to write: a last `\\boxed{...}`, a last "Answer: ..." line, a sentence
"the answer is ...". Knows neither questions nor right answers.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from conductor.text.thoughts import answer_in_full

# Each takes the rest of its line as it is: what must be trimmed there would be tried at every character.
_WORDS = (
    "answer|solution|antwort|lösung|réponse|respuesta|risposta|resposta|odpowiedź|cevap|ответ|відповідь|jawaban|"
    "jibu|trả lời|đáp án|คำตอบ|उत्तर|উত্তর|సమాధానం|答案|答え|解答|回答|正解|정답|답변|답|الإجابة|الجواب|תשובה"
)
"""An answer's label: the languages of MGSM and of simple-evals, and a few more."""
ANSWER_LINE = re.compile(
    r"^[^\w\n]*(?:\d{1,3}[.)][^\w\n]*)?(?:text(?:bf)?\{)?(?:the |my )?"
    rf"(?:final |correct |right |best |最终|最終|正确|故)?(?:{_WORDS}|choice|选|選)"
    r"[^\w\n]*?[:：=—|][*_}\s]*([^*_}\s].*)",
    re.IGNORECASE | re.MULTILINE,
)
ANSWER_SENTENCE = re.compile(
    rf"(?:\b(?:{_WORDS}|result|correct option) (?:is|ist|lautet|est|es|è|é|ni|adalah|là):?\s+"
    r"|(?:答案|答え|回答|正解)(?:是|为|為|は|选项为|选|選)[:：]?\s*|คำตอบคือ\s*|정답은\s*|(?:^|[，,。])(?:故|应|所以)?[选選]\s*)"
    r"(\S.*)",
    re.IGNORECASE | re.MULTILINE,
)
_TAGGED = re.compile(r"<(?:final_)?answer>([^<]*)</(?:final_)?answer>", re.IGNORECASE)
_FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_BEHIND = re.compile(r"(?:です)?。.*|(?:\.|\$) *I hope .*")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_BRACE = re.compile(r"[{}]")
_CHOICE = re.compile(r"^\(?([A-Za-z])\)?(?:[.:)]\s.*|\))?$", re.DOTALL)
_MARKS = re.compile(
    r"[$€£¥₹]|\\left(?=[(\[])|\\right(?=[)\]])|\\[,;! ]|\\\$|\\%|[*_`]"
    r"|\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|it|sf|tt)|operatorname|emph)\{([^{}]*)\}"
)
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+]?\d{1,3})?", re.IGNORECASE)
_FRACTION = re.compile(r"([-+]?)(?:(\d{1,30})\s+)?(\d{1,30})\s*/\s*(\d{1,30})")
_WRITTEN_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{\s*(\d{1,30})\s*\}|(\d))\s*(?:\{\s*(\d{1,30})\s*\}|(\d))")
_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_POWER = re.compile(f"[{''.join(map(chr, _POWERS))}]+")
_GROUPS = re.compile(
    r"(?<![\d.,'’])(?:(\d{1,3}(?:[ '’]\d{3})+|\d{1,3}(?:\.\d{3})+(?=,\d))(?:,(\d+))?"
    r"|(\d{1,2}(?:,\d{2})+,\d{3}))(?!,?\d)"
)
_LONGEST_NUMBER = 60

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

    The last box counts before the last `<answer>`, this before the last "Answer:" line, this before the last
    sentence with "the answer is", and this before the last line that is not empty. Thoughts hold no answer,
    and a fence only where nothing else does. Only the last `ENDING` characters of a response are read.
    """
    response = answer_in_full(response[-ENDING:])
    # What stands in a fence is an example, unless nothing else is there.
    for text in (_FENCED.sub("", response), _FENCED.sub(r"\2", response)):
        last = text.rstrip().rpartition("\n")[2].strip()
        if last.startswith(NO_ANSWER):
            return ""
        if (boxed := _last_boxed(text)) is not None:
            return boxed.strip()
        if tagged := _TAGGED.findall(text):
            return _bare(tagged[-1])
        for pattern in (ANSWER_LINE, ANSWER_SENTENCE):
            if matches := pattern.findall(text):
                within = ANSWER_SENTENCE.findall(matches[-1])
                return _bare(within[-1] if within else matches[-1])
    return _bare(last.removeprefix("#### "))


def comparable(answer: str) -> str:
    """Text that is equal for two answers that are one: a number by its value, a choice by its letter, words
    without case, widths and punctuation at their ends.

    Whole numbers, decimals and fractions are values; a percent sign, marks of currency and of mathematics are
    left out. "B", "(b)" and "B) Paris" are the choice b. Brackets around several things stay: (0, 1) is not
    [0, 1].
    """
    text = unmarked(answer)
    if (value := number_in(text.rstrip(".").removesuffix("%").strip())) is not None:
        return str(value)
    if choice := _CHOICE.match(text):
        return choice[1].casefold()
    words = " ".join(text.casefold().split()).strip(" .,;:!?\"'“”‘’" + ("" if "," in text else "()[]"))
    return re.sub(r"^(?:the|an?) (?=\S)", "", words)


def unmarked(text: str) -> str:
    """The folded text without the marks of mathematics, of Markdown and of currencies."""
    text = folded(text)
    for _ in range(2):  # A mark of a font may stand within another.
        text = _MARKS.sub(lambda match: match[1] or "", text)
    return text.strip()


def folded(text: str) -> str:
    """The text in one way of writing: widths, minus signs, powers ("m²" is "m^2"), fractions ("1½" and
    `1\\frac12` are "1 1/2"), and numbers whose thousands are set apart by spaces, apostrophes or dots before
    a decimal comma, or in India's groups. A comma or dot that could be either is read as in English.
    """
    text = _POWER.sub(lambda match: f"^{match[0].translate(_POWERS)}", text)
    text = "".join(f" {each}" if "VULGAR" in unicodedata.name(each, "") else each for each in text)
    text = unicodedata.normalize("NFKC", text).replace("⁄", "/").replace("−", "-").replace("{,}", ",")
    text = _WRITTEN_FRACTION.sub(lambda match: f" {match[1] or match[2]}/{match[3] or match[4]}", text)
    text = re.sub(r"(?<![^\s=(])([-+]) (?=\d+/\d)", r"\1", text)
    return _GROUPS.sub(_ungrouped, text).strip()


def _ungrouped(number: re.Match[str]) -> str:
    whole = re.sub(r"\D", "", number[1] or number[3])
    return whole if number[2] is None else f"{whole}.{number[2]}"


def number_in(text: str) -> Fraction | None:
    """The value of a text that is one number and nothing else; None for any other text."""
    text = folded(text)
    if fraction := _FRACTION.fullmatch(text):
        sign, whole, top, bottom = fraction.groups()
        if not int(bottom):
            return None
        value = Fraction(int(top), int(bottom)) + int(whole or 0)
        return -value if sign == "-" else value
    if not text or len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    try:
        return Fraction(Decimal(text.replace(",", "")))
    except InvalidOperation:
        return None


def _last_boxed(response: str) -> str | None:
    """What the last box with closed braces holds."""
    boxes = {match.end() for match in _BOXED.finditer(response)}
    opened: list[int] = []
    last, ends = -1, 0
    for brace in _BRACE.finditer(response):
        if brace[0] == "{":
            opened.append(brace.end())
        elif opened and (begins := opened.pop()) in boxes and begins > last:
            last, ends = begins, brace.start()
    return None if last < 0 else response[last:ends]


def _bare(line: str) -> str:
    line = _BEHIND.sub("", line.strip().strip("*").strip().removesuffix(NOT_CHECKED))
    line = line.rstrip(" |").removesuffix(".").strip()
    return line.rstrip("}").strip('"') if line.endswith("}") and "{" not in line else line
