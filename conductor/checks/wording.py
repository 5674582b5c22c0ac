"""Whether an instruction speaks of work that other steps did, as of something one has before one.

Reads English, one instruction at a time. It would rather miss a way of saying it than take "the previous
year" or "the answer in the question" for an earlier step's work. Knows no workflow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_EDGE = 3_000
"""Characters read at either end of an instruction."""

_EARLIER = r"(?:previous|prior|preceding|earlier|foregoing|aforementioned)"

_ANSWER = r"(?:answers?|responses?|repl(?:y|ies)|outputs?|solutions?|attempts?|drafts?|analys[ie]s)"
"""What a step is asked for, and the world seldom has a previous one of."""

_PRODUCT = (
    rf"(?:{_ANSWER}|plans?|outlines?|code|programs?|functions?|scripts?|results?|work|workings?|reasoning|"
    r"calculations?|derivations?|proofs?|summar(?:y|ies)|translations?|reviews?|critiques?|findings|feedback|"
    r"estimates?|reports?|lists?|recommendations?|proposals?|conclusions?|claims?|counts?|figures|tests?|"
    r"values?|data|numbers?)"
)

_WORKER = r"(?:worker|agent|expert|subtask|sub-task|assistant|teammate)"

_USE = (
    r"(?:us(?:e|ing)|based\s+on|build(?:ing)?\s+(?:up)?on|continue|extend|improve|refine|re-?check|check|verify|"
    r"review|validate|critique|correct|fix|combine|merge|summari[sz]e|take|consider|read|polish|revise|apply|"
    r"implement|evaluate|assess|inspect|execute)"
)

_MANY = r"(?:(?:two|three|four|five|six|several|different|independent|individual|separate|various)\s+){0,2}"

_NOT_OF = r"(?!\s+(?:of|to|for|in|at|on|by|about|regarding|concerning)\b)"
"""What follows tells that the thing is the world's, such as "the attempts at a treaty"."""

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")

_NUMBERS = r"#?\d{1,3}(?:\s*(?:,|,?\s*and|&|or|to|-|–)\s*(?:steps?\s+)?#?\d{1,3})*"

_PATTERNS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        # the previous answer, all earlier solutions, the preceding worker's draft
        rf"\b{_EARLIER}\s+(?:(?!and\b|or\b)[\w-]+\s+)?(?:answers?|responses?|repl(?:y|ies)|outputs?|solutions?)\b",
        rf"\b(?:the|all|these|those|each|every|both|this|that)\s+{_EARLIER}\s+"
        rf"(?:attempts?|drafts?|analys[ie]s|plans?|code|programs?|proofs?|critiques?|calculations?)\b{_NOT_OF}",
        rf"\b{_EARLIER}\s+{_WORKER}(?:s['’]|['’]s|s)?(?!\w)",
        rf"\b{_EARLIER}\s+(?:step|stage|round)(?:['’]s|s['’])\s+(?:[\w-]+\s+)?{_PRODUCT}\b",
        # the code from the previous step; based on the earlier steps; verify the previous results
        rf"\b{_PRODUCT}\s+(?:[\w-]+\s+){{0,3}}?(?:from|of|in|by|at)\s+(?:the\s+|all\s+|each\s+){{0,2}}"
        rf"{_EARLIER}\s+(?:steps?|stages?)\b",
        rf"\b{_USE}\s+(?:everything\s+|what\s+you\s+learned\s+)?(?:from\s+|on\s+|in\s+)?(?:the\s+|all\s+|both\s+)"
        rf"{{1,2}}{_EARLIER}\s+(?:steps?|stages?|work|results?|reasoning|findings|workings?){_NOT_OF}\b",
        # the above solution, the answer above
        rf"\bthe\s+above\s+(?:[\w-]+\s+)?(?:{_ANSWER}|plan|reasoning|critique)\b",
        rf"\bthe\s+(?:[\w-]+\s+)?(?:{_ANSWER}|plan|reasoning|critique)\s+(?:given\s+|shown\s+|stated\s+)?above\b"
        r"(?!\s+(?:the|a|an|your|this|that|its|it|all|any|each|every|zero|one|average|\d|[\w]+ing)\b)(?!\s*\d)",
        # the plan that you see, the answers you were given
        rf"\b(?:the|all|both|every|each|any)\s+(?:of\s+the\s+)?(?:[\w-]+\s+){{0,2}}?{_PRODUCT}\s+"
        r"(?:(?:that|which)\s+)?you\s+(?:can\s+)?(?:see|are\s+shown|were\s+shown|have\s+been\s+shown|receive)\b",
        rf"\b(?:the|all|both)\s+(?:[\w-]+\s+)?{_ANSWER}\s+(?:(?:that|which)\s+)?you\s+"
        r"(?:are|were|have\s+been)\s+given\b",
        # the other attempts, the other workers' answers
        rf"\bthe\s+other\s+{_MANY}(?:attempts|drafts)\b{_NOT_OF}",
        rf"\bother\s+(?:workers?|agents?)(?:s['’]|['’]s|['’])?(?=\s+(?:[\w-]+\s+)?"
        rf"(?:{_PRODUCT}|found|said|wrote|gave|proposed|produced|did|have)\b)",
        # compare the three attempts, merge the candidate solutions
        r"\b(?:compare|merge|combine|reconcile|weigh|judge|rank|aggregate|synthesi[sz]e|consolidate|fuse)\s+"
        rf"(?:the|all|all\s+the|both|these|those)\s+{_MANY}"
        r"(?:attempts|drafts|answers|responses|outputs|analyses)\b(?:\s+above)?"
        rf"{_NOT_OF}(?!\s+(?:a|b|c|d|\w\))\b)",
        r"\b(?:the|all|both|these)\s+(?:[\w-]+\s+)?(?:candidate|independent|proposed)\s+"
        rf"(?:answers|solutions|responses|attempts|drafts|analyses)\b{_NOT_OF}",
        # the work so far
        r"\b(?:the|all|all\s+the)\s+(?:work|answers?|results?|findings|reasoning|discussion)\s+so\s+far\b",
    )
)

_OF_STEP = re.compile(
    rf"\b{_PRODUCT}\s+(?:[\w-]+\s+){{0,2}}?(?:from|of|in|by|at)\s+(?:sub-?)?(?:step|task)s?\s+({_NUMBERS})(?!\w)"
    rf"|\b(?:step|subtask)\s+({_NUMBERS})(?:['’]s)\s+(?:[\w-]+\s+)?{_PRODUCT}\b",
    re.I,
)
_OF_ORDINAL = re.compile(
    rf"\b{_PRODUCT}\s+(?:[\w-]+\s+)?(?:from|of|by)\s+the\s+({'|'.join(_ORDINALS)})\s+(?:step|subtask)\b"
    rf"|\bthe\s+({'|'.join(_ORDINALS)})\s+(?:step|subtask)['’]s\s+(?:[\w-]+\s+)?{_PRODUCT}\b",
    re.I,
)
_OF_THE_METHOD = re.compile(
    r"\s+(?:of|in|from|for)\s+(?:the|this|that|your|an?|each|\w+['’]s)\b|\s+of\s+\w", re.I
)
"""After "step 2": it is a method's or a recipe's."""

_QUOTED = re.compile(
    r"```.{0,20000}?```|`[^`\n]{1,400}`|“[^”]{1,2000}”|\"[^\"\n]{1,2000}\"|«[^»]{1,2000}»", re.S
)
_SENTENCE = re.compile(r"[^.!?;\n]+(?:[.](?=\S)[^.!?;\n]+)*")

_OF_THE_QUESTION = re.compile(
    r"\b(?:in|from|of|by|under)\s+(?:the|this|that|his|her|their)\s+(?:[\w-]+\s+)?(?:question|query|prompt|user|"
    r"message|conversation|passage|document|e-?mail|letter|article|transcript|student|text|excerpt|file|chat|"
    r"thread|exam|paper|book|chapter|section|forum|author|teacher)\b|"
    r"\b(?:user|student|author|customer|client|teacher|speaker|pupil|applicant|candidate|writer)['’]?s?['’]?s\b|"
    r"\b(?:user|student|pupil|customer)\s+(?:gave|wrote|gives|writes|quotes?|pasted|provided)\b|"
    r"\b(?:question|query|user)\s+(?:quotes|contains|gives|includes|holds|mentions)\b",
    re.I,
)
"""The sentence says that it means something of the question's."""

_TURNED_AWAY = re.compile(
    r"\b(?:without|ignor\w+|independent(?:ly)?\s+(?:of|from)|regardless\s+of|not|never|unlike|than|differs?|"
    r"different|instead\s+of|avoid\w*|rather\s+than|whatever|no|if\s+there|should\s+there)\b|n['’]t\b",
    re.I,
)
"""Shortly before: the work is named in order to leave it alone."""

_WITHIN = re.compile(
    r"\b(?:at\s+each|for\s+each|in\s+each|with\s+each|each\s+(?:\w+\s+)?(?:step|line|iteration|term|time|stage|round)|"
    r"every\s+(?:step|line|iteration|term|time|stage)|iterat\w+|recurren\w+|recurs\w+|repeat\w*|step\s+by\s+step|"
    r"one\s+after\s+(?:another|the\s+other)|then|follows?\s+from|algorithm|method|procedure|sequence)\b",
    re.I,
)
"""Shortly before: the earlier thing is one of this very step's."""

_OWN = re.compile(r"(?:\b(?:an?|any|some|no|your|my|his|her|their|its|our|own|\w+['’]s|\w+s['’])\s+)$", re.I)
_CLOSE, _NEAR = 45, 90

_PLACED = re.compile(r"\b(?:put|place|write|print|position|set|keep|move|insert|repeat)\s+$", re.I)
_ARTICLE = re.compile(r"\b(the|all\s+the|all|both|these|those|this|that|each|every)\s+$", re.I)
_PLURAL = re.compile(
    r"\b(?:all|both|each|every|these|those|other|candidate|independent|compare|steps|workers|agents|answers|"
    r"responses|replies|outputs|solutions|attempts|drafts|analyses|so\s+far)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """Words that speak of other steps' work. `steps` are the numbers named, as written; `plural` tells that
    more than one step's work is meant.
    """

    words: str
    plural: bool = False
    steps: tuple[int, ...] = ()


@lru_cache(maxsize=512)
def mentions(instruction: str) -> tuple[Mention, ...]:
    """Every mention of other steps' work, those that name a step by its number first.

    Of a long instruction the two ends are read; what lies between is material.
    """
    long = len(instruction) > 2 * _EDGE
    read = f"{instruction[:_EDGE]}\n{instruction[-_EDGE:]}" if long else instruction
    text = _QUOTED.sub(lambda quoted: " " * len(quoted.group()), read)
    spoken = (_spoken(sentence.group()) for sentence in _SENTENCE.finditer(text))
    return (*_numbered(text), *(found for found in spoken if found is not None))


def _numbered(text: str) -> Iterator[Mention]:
    for found in _OF_STEP.finditer(text):
        steps = tuple(int(number) for number in re.findall(r"\d+", found.group(1) or found.group(2)))
        if not _left_alone(text, found):
            yield Mention(_with_article(text, found), len(steps) > 1, steps)
    for found in _OF_ORDINAL.finditer(text):
        step = _ORDINALS.index((found.group(1) or found.group(2)).lower()) + 1
        if not _left_alone(text, found):
            yield Mention(_with_article(text, found), steps=(step,))


def _left_alone(text: str, found: re.Match[str]) -> bool:
    if _OF_THE_METHOD.match(text, found.end()):
        return True
    return bool(_TURNED_AWAY.search(text, max(0, found.start() - _CLOSE), found.start()))


def _spoken(sentence: str) -> Mention | None:
    for pattern in _PATTERNS:
        for found in pattern.finditer(sentence):
            if not _harmless(sentence, found):
                words = _with_article(sentence, found)
                return Mention(words, bool(_PLURAL.search(words)))
    return None


def _harmless(sentence: str, found: re.Match[str]) -> bool:
    start = found.start()
    before = ((_OWN, 30), (_PLACED, 20), (_TURNED_AWAY, _CLOSE), (_WITHIN, _NEAR))
    if any(pattern.search(sentence, max(0, start - reach), start) for pattern, reach in before):
        return True
    around = sentence[max(0, start - 4 * _NEAR) : found.end() + 2 * _NEAR]
    return _OF_THE_QUESTION.search(around) is not None


def _with_article(sentence: str, found: re.Match[str]) -> str:
    article = _ARTICLE.search(sentence, max(0, found.start() - 12), found.start())
    return f"{article.group(1)} {_words(found)}" if article else _words(found)


def _words(found: re.Match[str]) -> str:
    return " ".join(found.group().split())[:80]


# -- things that one step makes and another takes up ---------------------------------------------------

_MADE = (
    r"(plan|outline|draft|code|program|function|script|proof|translation|summary|essay|story|poem|"
    r"letter|report)"
)

_MAKES = re.compile(
    r"^\W*(?:(?:first|please|carefully|briefly)[\s,]+)?(?:"
    r"(plan|outline|draft|summari[sz]e|translate|prove)\b|"
    r"(?:write|make|draw\s+up|produce|create|propose|give|prepare|design|compose|develop|sketch|devise|"
    rf"implement|code)\s+(?:(?:an?|the|some)\s+)?(?:[\w+#-]+\s+){{0,3}}?{_MADE}\b)",
    re.I,
)
_MAKES_BY_VERB = {
    "summarise": "summary",
    "summarize": "summary",
    "translate": "translation",
    "prove": "proof",
}

_TAKES_UP = re.compile(
    r"^\W*(?:(?:now|then|please|carefully|strictly|critically)[\s,]+)?(?:follow|execute|carry\s+out|implement|"
    r"review|check|verify|test|polish|improve|critique|proofread|refine|revise|debug|run|shorten|edit)\s+the\s+"
    rf"(?:[\w-]+\s+)?{_MADE}\b(?!\s+(?:of|in|from|that\s+the|by|below)\b)",
    re.I,
)


def made(instruction: str) -> str | None:
    """What kind of thing an instruction asks for, such as "plan"; None where its beginning does not say."""
    found = _MAKES.match(instruction)
    if found is None:
        return None
    word = (found.group(1) or found.group(2)).lower()
    return _MAKES_BY_VERB.get(word, word)


def taken_up(instruction: str) -> tuple[str, str] | None:
    """The kind of thing that an instruction begins by taking up, and the words that say so."""
    found = _TAKES_UP.match(instruction)
    if found is None or _OF_THE_QUESTION.search(instruction[: found.end() + 2 * _NEAR]):
        return None
    return found.group(1).lower(), _words(found)
