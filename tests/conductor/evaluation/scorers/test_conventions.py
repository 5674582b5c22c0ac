"""Pairs and programs with the verdicts that the field's own scorers, or people, give: math-verify's and
MATH's for formulas, simple-evals' and lm-evaluation-harness' for choices, LiveCodeBench's for programs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from conductor.evaluation.items import Item
from conductor.evaluation.score import Verdict
from conductor.evaluation.scorers import score
from conductor.text.program_text import program_in

RIGHT, WRONG, NONE = "right", "wrong", "no answer"

Pairs = Sequence[tuple[str, str, Verdict]]

TEXTS: Mapping[str, Pairs] = {
    "exact": (
        ("Correct answer: Paris", "Paris", RIGHT),
        ("The best answer: Paris", "Paris", RIGHT),
        ("\\boxed{\\textbf{Paris}}", "Paris", RIGHT),
        ("\\boxed{\\mathbf{\\text{Paris}}}", "Paris", RIGHT),
        ("\\boxed{\\mathrm{NaCl}}", "NaCl", RIGHT),
        ("Answer: 1.234,50", "1234.5", RIGHT),
        ("Answer: 1.234", "1234", WRONG),
        ("The capital of Peru is Lima", "Lima", WRONG),
        ("The answer is Lima.", "Lima", RIGHT),
        ("Answer: Lima, Peru", "Lima", WRONG),
        ("Answer: an owl", "owl", RIGHT),
        ("Answer: 7,0", "7.0", WRONG),
        ('{"answer": "Lima", "country": "Peru"}', "Lima", RIGHT),
        ('{"thoughts": "Lima?", "final_answer": "Quito"}', "Lima", WRONG),
        ('It is:\n```json\n{"why": "it is", "answer": "Lima"}\n```', "Lima", RIGHT),
        ('{"capital": "Lima"}', "Lima", WRONG),
        ("Lima\n***", "Lima", RIGHT),
        ("No answer: I cannot say.", "Lima", NONE),
        ("", "Lima", NONE),
    ),
    "number": (
        ("Answer: 1.234,50 €", "1234.5", RIGHT),
        ("Answer: 1.234.567,8", "1234567.8", RIGHT),
        ("Answer: 1 234,5", "1234.5", RIGHT),
        ("Answer: 1\u202f234,5", "1234.5", RIGHT),
        ("Answer: 1'234.5", "1234.5", RIGHT),
        ("Answer: 1’234’567", "1234567", RIGHT),
        ("Answer: 12,34,567", "1234567", RIGHT),
        ("Answer: ₹1,23,456.50", "123456.5", RIGHT),
        ("Answer: 1,5", "1.5", NONE),
        ("Answer: 1.500", "1500", WRONG),
        ("Answer: 12,345", "12.345", WRONG),
        ("Answer: 204 minutes, i.e. 3 h 24 min", "204", NONE),
        ("We add 0.1 + 0.2, which is 0.3", "0.3", RIGHT),
        ("17 and 23 makes 40.", "40", RIGHT),
        ("The sum of 17 and 23 is 40 apples.", "40", RIGHT),
        ("The product of 2 and 3 is not 5.", "5", NONE),
        ("2 plus 2 is 4 or 5", "4", NONE),
        ("2 + 2 equals 4", "4", RIGHT),
        ("The number 7 is odd.", "7", RIGHT),
        ("Answer: five", "5", NONE),
        ('{"steps": [1, 2], "answer": 5, "unit": "km"}', "5", RIGHT),
        ('{"answer": [5], "check": 7}', "5", RIGHT),
        ('{"answer": [5, 7]}', "5", NONE),
        ("Answer: 5'11\"", "511", NONE),
        ("Answer: 10,20,300", "10", WRONG),
        ("I don't know.", "5", NONE),
        ("", "5", NONE),
    ),
    "contains": (
        ("It is certainly not Paris.", "Paris", WRONG),
        ("It is not Lyon but Paris.", "Paris", RIGHT),
        ("Whether it is Paris I doubt.", "Paris", RIGHT),
        ("17 %", "17%", RIGHT),
        ("about 17%", "17 %", RIGHT),
        ("It grew by 17\u00a0%.", "17%", RIGHT),
        ("117 %", "17%", WRONG),
        ("The capital of Peru is Lima", "Lima", RIGHT),
        ("Limass", "Lima", WRONG),
        ("It costs 1.234,50 €.", "1234.50", RIGHT),
        ("It is **Lima**.", "lima", RIGHT),
        ("So \\boxed{42}.", "42", RIGHT),
        ("$\\boxed{5\\text{ km}}$", "5 km", RIGHT),
        ("\\boxed{-5}", "5", WRONG),
        ("\\boxed{\\frac{3}{4}}", "3/4", RIGHT),
        ("\\frac{42}{2}", "42", WRONG),
        ("\\fbox{\\mathbf{\\text{Lima}}}", "Lima", RIGHT),
        ("\\boxed{C}", "C", RIGHT),
        ("<answer>42</answer>", "42", RIGHT),
        ("<b>5 km</b>", "5 km", RIGHT),
        ("x <42 and y> 3", "42", WRONG),
        ("No answer: I know no Lima.", "Lima", NONE),
        ("", "Lima", NONE),
    ),
    "flexible": (
        ("Answer: 5 km", "5 m", WRONG),
        ("Answer: 5000 m", "5 km", WRONG),
        ("Answer: 1.234,50 €", "1,234.5 euros", RIGHT),
        ("Answer: the result is 9.75", "9.8", RIGHT),
        ("Answer: 9.6", "9.8", WRONG),
        ("Answer: 5 £", "5 $", WRONG),
        ("Answer: it rises", "It rises.", RIGHT),
        ("Answer: it falls", "It rises.", WRONG),
        ("", "5", NONE),
    ),
}  # fmt: skip

TOWNS = ("Rome", "London", "Lyon", "Bern")

CHOICES: Pairs = (
    ("\\boxed{\\textbf{(B)}}", "B", RIGHT),
    ("\\boxed{\\mathbf{B}}", "B", RIGHT),
    ("$\\boxed{\\mathrm{(B)}\\ \\text{London}}$", "B", RIGHT),
    ("Correct answer: B", "B", RIGHT),
    ("Therefore the correct choice is (B).", "B", RIGHT),
    ("The best choice is **B) London**", "B", RIGHT),
    ("I would choose B.", "B", RIGHT),
    ("not B, so C", "C", RIGHT),
    ("not B, so C", "B", WRONG),
    ("A long story.", "A", NONE),
    ("A good answer would be London", "A", NONE),
    ("A good answer would be London.\nWhy do you ask?", "A", NONE),
    ("A", "A", RIGHT),
    ("A.", "A", RIGHT),
    ("A: Rome", "A", RIGHT),
    ("A) Rome", "A", RIGHT),
    ("A, since it is old", "A", RIGHT),
    ("A because it is old", "A", RIGHT),
    ("A is right", "A", RIGHT),
    ("Answer: A", "A", RIGHT),
    ("Answer: A or B", "A", NONE),
    ("Answer: a) Rome", "A", RIGHT),
    ("a dog", "A", NONE),
    ("As it is", "A", NONE),
    ("The answer is A good one", "A", NONE),
    ("The correct option is B\n\nI hope that this helps!", "B", RIGHT),
    ("The answer is (B). Then again, who knows.\n\nGood luck!", "B", RIGHT),
    ("Option C is wrong, so B", "B", RIGHT),
    ("I'd go with C", "C", RIGHT),
    ("I pick (C) Lyon.", "C", RIGHT),
    ("My final answer is option D.", "D", RIGHT),
    ("The answer must be D, not A.", "D", RIGHT),
    ("It is London (B).", "B", RIGHT),
    ("It is either (B) or (C).", "B", NONE),
    ("Both choices B and C fit", "B", NONE),
    ("Neither A nor B", "B", NONE),
    ("London", "B", RIGHT),
    ("The answer is London.", "B", RIGHT),
    ("the capital is London", "B", NONE),
    ("I cannot help with that.", "B", NONE),
    ("Answer: E", "B", NONE),
    ("Answer: Ⓑ", "B", RIGHT),
    ("Answer:\nB", "B", RIGHT),
    ("**Answer:** (B) London", "B", RIGHT),
    ("ANSWER: b", "B", RIGHT),
    ("A is tempting, but D is right.", "D", RIGHT),
    ("Option A is tempting, but the right option is D.", "D", RIGHT),
    ("A is incorrect, B is incorrect, C is incorrect, D is correct.", "D", RIGHT),
    ("B looks right but it's D.", "D", RIGHT),
    ("The answer isn't A; it's D.", "D", RIGHT),
    ("The answer cannot be A, so it must be D.", "D", RIGHT),
    ("Between A and C, C is better.", "C", RIGHT),
    ("A is right and B is right.", "B", NONE),
    ("A is in Italy.", "A", RIGHT),
    ("C is the capital, which B is not.", "C", RIGHT),
    ("I believe C is correct.", "C", RIGHT),
    ("It's C.", "C", RIGHT),
    ("It's A good question", "A", NONE),
    ("It has to be C.", "C", RIGHT),
    ("That leaves us with C.", "C", RIGHT),
    ("The answer is letter C.", "C", RIGHT),
    ("The answer is either C or D, probably D.", "D", NONE),
    ("The capital of A is B", "B", NONE),
    ("Vitamin C", "C", NONE),
    ("Ans: C", "C", RIGHT),
    ("Answer: C/Lyon", "C", RIGHT),
    ("Answer: C/D", "C", NONE),
    ("Answer: C -> Lyon", "C", RIGHT),
    ("C → Lyon", "C", RIGHT),
    ("C → Bern", "C", NONE),
    ("__C__", "C", RIGHT),
    ("> **C**", "C", RIGHT),
    ("- C) Lyon", "C", RIGHT),
    ("### C", "C", RIGHT),
    ("✅ C", "C", RIGHT),
    ("❌ C", "C", NONE),
    ("C.\n\n---", "C", RIGHT),
    ("C\n```", "C", RIGHT),
    ('{"reasoning": "B is north.", "answer": "C"}', "C", RIGHT),
    ('{"answer": "C", "why": "B is north"}', "C", RIGHT),
    ('```json\n{\n  "choice": "C",\n  "confidence": 0.9\n}\n```', "C", RIGHT),
    ("", "B", NONE),
)  # fmt: skip

BLOOD = ("O", "A", "B", "AB")

LETTERED: Pairs = (
    ("Answer: A", "A", RIGHT),
    ("Answer: B", "A", WRONG),
    ("Answer: A", "B", WRONG),
    ("Answer: (D)", "D", RIGHT),
    ("Answer: AB", "D", RIGHT),
    ("Answer: O", "A", NONE),
    ("Answer: B) A", "B", RIGHT),
    ("Answer: C: B", "C", RIGHT),
    ("It's B.", "B", NONE),
    ("The blood group is A, so B is wrong.", "A", NONE),
    ("B", "B", RIGHT),
)
"""Choices whose texts are letters: a letter alone is the letter of a choice, as the question asks."""

FORMULAS: Pairs = (
    ("\\boxed{4210_{7}}", "4210_5", WRONG),
    ("\\boxed{4210_{5}}", "4210_5", RIGHT),
    ("\\boxed{4210}", "4210_5", RIGHT),
    ("So $x=\\frac12$ is the answer.", "\\frac12", RIGHT),
    ("Thus $\\theta = 90^\\circ$", "90", RIGHT),
    ("Hence \\(x = 3\\).", "3", RIGHT),
    ("Hence \\[x = 3\\]", "3", RIGHT),
    ("The values are $5$ and $6$.", "5, 6", RIGHT),
    ("The values are $5$ and $6$.", "6", WRONG),
    ("$5$ and $6$", "\\{5,6\\}", RIGHT),
    ("It costs \\$5.", "5", RIGHT),
    ("There are 12 ways", "12", RIGHT),
    ("90^\\circ", "90", RIGHT),
    ("x=\\frac12", "\\frac12", RIGHT),
    ("\\boxed{x>3}", "(3,\\infty)", RIGHT),
    ("\\boxed{(3,\\infty)}", "x>3", RIGHT),
    ("\\boxed{x\\ge 3}", "(3,\\infty)", WRONG),
    ("\\boxed{(-\\infty, 3]}", "x \\le 3", RIGHT),
    ("\\boxed{\\boxed{7}}", "7", RIGHT),
    ("\\boxed{\\sqrt{50}}", "5\\sqrt2", RIGHT),
    ("\\boxed{0.5}", "\\frac{1}{2}", RIGHT),
    ("\\boxed{\\frac{x^2-1}{x-1}}", "x+1", RIGHT),
    ("\\boxed{\\text{(B)}}", "\\text{(B)}", RIGHT),
    ("\\boxed{\\text{no solution}}", "\\text{no solution}", RIGHT),
    ("\\boxed{x^2}", "x2", WRONG),
    ("\\boxed{5!}", "5", WRONG),
    ("\\boxed{\\text{evelyn}}", "\\text{Evelyn}", RIGHT),
    ("I do not know", "3", NONE),
    ("I think that it rises", "x^2", NONE),
    ("", "3", NONE),
    ("\\boxed{9^{9^{9^{9^{9}}}}!}", "1", "unjudged"),
)  # fmt: skip


def verdict(scorer: str, response: str, target: str, choices: tuple[str, ...] | None = None) -> Verdict:
    item = Item(id="q", input="Why?", target=(target,), choices=choices, scorer=scorer)
    return asyncio.run(score(response, item)).verdict


@pytest.mark.parametrize(
    ("scorer", "response", "target", "expected"),
    [(scorer, *pair) for scorer, pairs in TEXTS.items() for pair in pairs],
)
def test_a_text_has_the_verdict_that_people_give(
    scorer: str, response: str, target: str, expected: Verdict
) -> None:
    assert verdict(scorer, response, target) == expected


@pytest.mark.parametrize(
    ("choices", "response", "target", "expected"),
    [(TOWNS, *pair) for pair in CHOICES] + [(BLOOD, *pair) for pair in LETTERED],
)
def test_a_choice_has_the_verdict_that_its_letter_or_text_gives(
    choices: tuple[str, ...], response: str, target: str, expected: Verdict
) -> None:
    assert verdict("choice", response, target, choices) == expected


@pytest.mark.slow
@pytest.mark.thorough
async def test_a_formula_has_the_verdict_of_its_meaning() -> None:
    verdicts = []
    for response, target, _ in FORMULAS:
        item = Item(id="q", input="Why?", target=(target,), scorer="mathematics")
        verdicts.append((response, target, (await score(response, item)).verdict))
    assert tuple(verdicts) == FORMULAS


F = "def f(x):\n    return 2 * x"
TESTS = "assert f(2) == 4\nassert f(-1) == -2"

RESPONSES: Pairs = (
    (F, TESTS, RIGHT),
    (f"```python\n{F}\n```", TESTS, RIGHT),
    (f"```\n{F}\n```", TESTS, RIGHT),
    (f"~~~python\n{F}\n~~~", TESTS, RIGHT),
    (f"Here it is:\n```python\n{F}\n", TESTS, RIGHT),
    ("1. Define it:\n\n   ```python\n   def f(x):\n       return 2 * x\n   ```\n\n2. Use it.", TESTS, RIGHT),
    ("- So:\n\t```py\n\tdef f(x):\n\t\treturn 2 * x\n\t```", TESTS, RIGHT),
    (f"```python\n{F}\n```\nIt prints:\n```text\n4\n```", TESTS, RIGHT),
    (f"```python\n{F}\n```\nIt prints:\n```\n4\n```", TESTS, RIGHT),
    (f"```\n{F}\n```\nIt prints:\n```\n4\n```", TESTS, WRONG),
    (f"```python\nf = 1\n```\nBetter:\n```python\n{F}\n```", TESTS, RIGHT),
    (f"```python\n{F}\n```\nWorse:\n```python\nf = 1\n```", TESTS, WRONG),
    (f"```Python\r\n{F}\r\n```".replace("\n", "\r\n").replace("\r\r", "\r"), TESTS, RIGHT),
    ("```python\nf = lambda x: x + x\n```", TESTS, RIGHT),
    ("```python\nclass F:\n    def __call__(self, x): return x * 2\nf = F()\n```", TESTS, RIGHT),
    ("```python\nimport functools\nf = functools.partial(int.__mul__, 2)\n```", TESTS, RIGHT),
    ("```python\nprint('debug')\ndef f(x):\n    print(x)\n    return x * 2\n```", TESTS, RIGHT),
    ("```python\nimport sys\ndef f(x):\n    print(x, file=sys.stderr)\n    return x * 2\n```", TESTS, RIGHT),
    ("```python\ndef f(x: 'int') -> 'int':\n    '''Twice x.'''\n    return x << 1\n```", TESTS, RIGHT),
    (f"```python\nimport threading\nthreading.Thread(target=print).start()\n{F}\n```", TESTS, RIGHT),
    (f"```python\n{F}\nif __name__ == '__main__':\n    print(f(1))\n```", TESTS, RIGHT),
    ("```python\ndef f(x):\n    return 4\n```", TESTS, WRONG),
    ("```python\ndef f(x):\n    return x\n```", TESTS, WRONG),
    ("```python\ndef g(x):\n    return 2 * x\n```", TESTS, WRONG),
    ("```python\ndef f(x):\nreturn 2 * x\n```", TESTS, WRONG),
    ("```python\ndef f(x):\n    return 2 * x +\n```", TESTS, WRONG),
    ("```python\nimport no_such_module\nf = lambda x: 2 * x\n```", TESTS, WRONG),
    ("```python\nimport sys\nsys.exit(0)\n```", TESTS, WRONG),
    ("```python\nimport os\nos._exit(0)\n```", TESTS, WRONG),
    ("```python\nraise SystemExit\n```", TESTS, WRONG),
    ("```python\nprint('passed')\nquit()\n```", TESTS, WRONG),
    ("```python\ndef f(x):\n    import os\n    os._exit(0)\n```", TESTS, WRONG),
    ("```python\nimport resource\nresource.setrlimit(0, (1, 1))\nwhile True: pass\n```", TESTS, WRONG),
    ("```python\nf = [0] * 10**10\n```", TESTS, WRONG),
    ("```python\ndef f(x):\n    return f(x)\n```", TESTS, WRONG),
    ("```python\nx = input()\n```", TESTS, WRONG),
    ("```python\nassert False\n```", TESTS, WRONG),
    ("```python\nopen('/etc/passwd-', 'w')\n```", TESTS, WRONG),
    ("```python\ndef f(x):\n    return 2.0 * x\n```", TESTS, RIGHT),
    ("```python\ndef f(x):\n    return str(2 * x)\n```", TESTS, WRONG),
    ("```java\nint f(int x) { return 2 * x; }\n```", TESTS, WRONG),
    ("I would double it.", TESTS, NONE),
    ("def f(x):\n    return 2 * x +", TESTS, NONE),
    ("def f(x):\n    raise SyntaxError('no')\n\nf.g", TESTS, WRONG),
    (f"<think>```python\nf = 1\n```</think>\n```python\n{F}\n```", TESTS, RIGHT),
    (f"<think>\n```python\n{F}\n```\nIs it so?", TESTS, NONE),
    (f"Here it is: ```python\n{F}\n```", TESTS, RIGHT),
    (f"````python\n{F}\n````\nThat is it.", TESTS, RIGHT),
    (f"Use ```f``` so:\n```python\n{F}\n```\nwhere ```f``` doubles.\n", TESTS, RIGHT),
    (f"[PYTHON]\n{F}\n[/PYTHON]", TESTS, RIGHT),
    (f"[PYTHON]{F}[/PYTHON]\nIt prints:\n```\n4\n```", TESTS, RIGHT),
    (f"[PYTHON]\n{F}\n[/PYTHON]\nWorse:\n```python\nf = 1\n```", TESTS, WRONG),
    (f"<think>[PYTHON]\n{F}\n[/PYTHON]</think>I cannot.", TESTS, NONE),
    (f"<code>\n{F}\n</code>", TESTS, RIGHT),
    (f"<code>f</code> is\n<python>\n{F}\n</python>\nand <code>x</code> its input.", TESTS, RIGHT),
    (f"<solution>\n{F}\n</solution>", TESTS, RIGHT),
    (f"<answer>\n```python\n{F}\n```\n</answer>", TESTS, RIGHT),
    ("> ```python\n> def f(x):\n>     return 2 * x\n> ```", TESTS, RIGHT),
    ("So:\n\n>```py\n>def f(x):\n>    return 2 * x\n>```\n\nIt doubles.", TESTS, RIGHT),
    ("- a\n  > ```\n  > def f(x):\n  >     return 2 * x\n  > ```", TESTS, RIGHT),
    ("> ```python\n> f = abs\n> ```\n\nis wrong; rather\n```\nf = lambda x: 2 * x\n```", TESTS, RIGHT),
    (f"```python\nf = abs\n```\nYou wrote:\n> ```python\n> {F[:9]}\n>     return 2 * x\n> ```", TESTS, WRONG),
    ('{"why": "twice", "code": "f = lambda x: 2 * x"}', TESTS, RIGHT),
    ('```json\n{"code": "f = lambda x: 2 * x"}\n```', TESTS, RIGHT),
    ('{"result": "f = lambda x: 2 * x"}', TESTS, WRONG),
    (f"{F}\n```", TESTS, RIGHT),
    (f"```{{python}}\n{F}\n```", TESTS, RIGHT),
    (f"```python title=f.py\n{F}\n```", TESTS, RIGHT),
    (f"Here it is:\n\n{F}", TESTS, NONE),
    ("```python\n```", TESTS, NONE),
    ("", TESTS, NONE),
    ("```python\nx, y = map(int, '2 3'.split())\n```", "assert 'split' in PROGRAM", RIGHT),
    (f"```python\n{F}\n```", "names = {}\nexec(PROGRAM, names)\nassert names['f'](3) == 6", RIGHT),
    (f"```python\n{F}\n```", "names = {}\nexec(PROGRAM, names)\nassert names['f'](3) == 7", WRONG),
    (f"```python\n\n{F}  \n\n\n```", TESTS, RIGHT),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.thorough
async def test_a_program_has_the_verdict_of_its_tests() -> None:
    async def scored(response: str, tests: str) -> tuple[str, str, Verdict]:
        item = Item(id="q", input="Why?", target=(tests,), scorer="code")
        return response, tests, (await score(response, item, allow_code=True)).verdict

    verdicts: list[tuple[str, str, Verdict]] = []
    for at in range(0, len(RESPONSES), 4):
        verdicts += await asyncio.gather(*(scored(*each[:2]) for each in RESPONSES[at : at + 4]))
    assert tuple(verdicts) == RESPONSES


@pytest.mark.parametrize(
    ("response", "program"),
    [
        ("1. So:\n   ```python\n   f = 1\n   ```", "f = 1\n"),
        ("1. So:\n   ```python\n   if f:\n       g\n   ```", "if f:\n    g\n"),
        ("```python\nf = 1", "f = 1"),
        ("```python\nf = 1\n", "f = 1\n"),
        ("~~~\nf = 1\n~~~", "f = 1\n"),
        ("~~~python\ns = '''\n```\n'''\n~~~", "s = '''\n```\n'''\n"),
        ("```python\nf = 1\n```\n```\n1\n```", "f = 1\n"),
        ("```\nf = 1\n```\n```\n1\n```", "1\n"),
    ],
)
def test_the_program_of_a_response_is_found_in_fences_of_each_kind(response: str, program: str) -> None:
    assert program_in(response) == program
