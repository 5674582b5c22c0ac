"""What models put for a plan's backslashes, marks and shapes; a source for each.

Sources: LR HKUDS/LightRAG#3238, WN wttwins/wrong-notebook#3, AE AgentToolkit/altk-evolve#318, OC
openclaw#88918, CC anthropics/claude-code#87251, GP Pythagora-io/gpt-pilot#756, GF
Graphify-Labs/graphify#2286, JR josdejong/jsonrepair, PY mangiucugna/json_repair, LK livekit/agents#5409, VL
vllm-project/vllm#54964, RX ReflexioAI/reflexio#121, LM langmanus/langmanus#70; own: no public report.
"""

from __future__ import annotations

from typing import get_args

import pytest

from conductor.planner.parsing.literals import RepairKind
from conductor.planner.parsing.parse import parse
from conductor.workflow.plan_report import Form, PlanReport

POOL = ("alpha", "beta", "gamma")
ONE = "model_id = [0]\nsubtasks = ['A.']\naccess_list = [[]]"
STEP = '{"instruction": "A.", "agent": 0, "access": []}'
SECOND = '{"instruction": "B.", "agent": 1, "access": [0]}'


def lists(models: str = "[0, 1]", subtasks: str = '["A.", "B."]', access: str = "[[], [0]]") -> str:
    return f"model_id = {models}\nsubtasks = {subtasks}\naccess_list = {access}"


def read(text: str, form: Form = "lists") -> PlanReport:
    return parse(text, workers=POOL, form=form)


@pytest.mark.parametrize(
    ("source", "written", "instruction"),
    [
        *(
            (source, text, text)
            for source, text in [
                ("WN", r"Compute \frac{1}{2} for \beta in \boldsymbol{x}."),
                ("AE", r"Give \boxed{x}, $\begin{bmatrix}1\end{bmatrix}$, \underbrace{x}."),
                ("LR", r"Show $a \times b$, \theta, \text{cm}, \textbf{x}, 5\text{cm}."),
                ("LR", r"Density \nu, \neq 0, \nabla f, \not, \notin A, $x\to y$ and $E=h\nu$."),
                ("LR", r"Use \rho, \left( x \right), \rangle and \tan{x}."),
                ("own", r"Show \alpha and \vec v and \forall x, \(a\ne b\)."),
                ("OC", r"Run C:\bin\app.exe and D:\reports\2024."),
                ("OC", r"Read C:\temp\new\file.txt, C:\new and ..\reports."),
                ("CC", r"Open E:\Folder\Angels sword\a.md and C:\Users\x."),
                ("own", r"Read \\server\share\temp."),
                ("own", r"Match \bword\b and \d+\s*."),
                ("own", r"Read .\notes\today.md and ..\tools\run.exe."),
                ("own", r"Look in %APPDATA%\npm, $env:TEMP\new and ~\notes."),
                ("own", r"Read \\nas01\backup\new."),
                ("own", r"Split it at '\n', `\t` or '\r\n'."),
                ("LR", r"Let \mathbb{R}^n\to\mathbb{R} and x\ne_1."),
                ("LR", r"Take \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}."),
                ("LR", r"Solve \begin{cases}x\\y\end{cases} and \begin{align}a\\\beta\end{align}."),
                ("WN", r"Give \underbrace{x}, \vdots, \varepsilon, \aleph, \approx, \binom{n}{k}."),
                ("LR", r"Write \tfrac12, \tilde x, \triangle, \rvert, \Rightarrow, \ngeq."),
                ("own", r"Escape a \& b, 50\%, \#1, \_x, \$5 and \{ y \}."),
                ("own", r"\usepackage{amsmath} and \footnote{x}."),
            ]
        ),
        (
            "LR",
            r"cost $\frac{610 \\times 1}{C_{\\text{max}}}$",
            r"cost $\frac{610 \times 1}{C_{\text{max}}}$",
        ),
        ("LR", r"Compute \\frac{1}{2}, \\theta.", r"Compute \frac{1}{2}, \theta."),
        ("own", r"Read \\\\server\\share\\new.", r"Read \\server\share\new."),
        ("own", r"In C:\\dir\nnext", "In C:\\dir\nnext"),
        ("own", r"Read C:\\data\\new.csv\nThen go", "Read C:\\data\\new.csv\nThen go"),
        ("own", r"Wait ...\nThen ..\nNext", "Wait ...\nThen ..\nNext"),
        ("own", r"He said 'a\nb'", "He said 'a\nb'"),
        ("own", r"a\tto\nb\nd\ne\nf", "a\tto\nb\nd\ne\nf"),
        ("LR", r"\\begin{cases}1 \\\\ 2\\end{cases}", r"\begin{cases}1 \\ 2\end{cases}"),
        ("LR", r"List:\nexists in the table\tauthor", "List:\nexists in the table\tauthor"),
        ("own", r"Steps:\nnot all\nto do\ntext\r\nx", "Steps:\nnot all\nto do\ntext\r\nx"),
        ("own", r"Solve for x:\nThen y:\tvalue", "Solve for x:\nThen y:\tvalue"),
        ("own", r"About ~\n", "About ~\n"),
        ("own", r"Look at ~\notes\n.", r"Look at ~\notes\n."),
        ("own", r"Ask \\server\n", "Ask \\server\n"),
        ("own", r"A:\u003cthink>", "A:<think>"),
        ("own", r"A:\ud83d\ude00", "A:\N{GRINNING FACE}"),
        ("own", r"x = 1\nu = 3\ni = 0\tan apple", "x = 1\nu = 3\ni = 0\tan apple"),
        ("own", r"costs $5 and\ne is $6", "costs $5 and\ne is $6"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        'model_id = [0]\nsubtasks = ["TEXT"]\naccess_list = [[]]',
        'model_id = [0]\nsubtasks = ["""TEXT"""]\naccess_list = [[]]',
        '{"steps": [{"instruction": "TEXT", "agent": 0, "access": []}]}',
    ],
)
def test_a_backslash_of_a_command_or_path_stays_and_an_escape_is_one(
    source: str, written: str, instruction: str, form: str
) -> None:
    report = read(form.replace("TEXT", written))
    assert report.workflow is not None, report.problems
    assert report.workflow.steps[0].instruction == instruction
    strict = parse(form.replace("TEXT", written), workers=POOL, strict=True)
    if "=" in form and strict.workflow is not None:
        python = strict.workflow.steps[0].instruction
        assert ("backslash" in {loose.kind for loose in report.repairs}) == (python != instruction)


def test_a_raw_text_has_no_escapes() -> None:
    report = read(lists("[0]", r'[r"\frac{1}{2} in C:\new."]', "[[]]"))
    assert report.workflow is not None
    assert report.workflow.steps[0].instruction == r"\frac{1}{2} in C:\new."


TWO = [
    ("GF", lists().replace(" = ", "：")),
    ("own", lists().replace("=", "＝")),
    ("PY", "model_id = ［0， 1］\nsubtasks = ［\"A.\"， 'B.'］\naccess_list = ［［］， ［0］］"),
    ("own", lists("[0，1]", '["A."，"B."]', "[[]、[0]]")),
    ("own", lists("【０，１】", "[「A.」，「B.」]", "[[]，[０]]")),
    ("own", lists("[0, 1]", "[«A.», »B.«]")),
    ("GF", f"{{“steps”：[{STEP}，{SECOND}]}}"),
    *(("JR", lists().replace(" = ", f"{blank}={blank}")) for blank in "\u00a0\u202f\u3000\u200b\ufeff\u2060"),
    ("JR", lists("[\u200b0,\u200b1]", access="[[]\u200b, [0]]")),
    ("own", lists().replace("_", "\u2011")),
    ("GP", lists().replace("_", r"\_")),
    ("GP", lists().replace("_", r"\_").replace("[", r"\[").replace("]", r"\]")),
    ("GP", r'{"model\_id": [0, 1], "subtasks": ["A.", "B."], "access\_list": [[], [0]]}'),
    ("own", lists().replace(" = ", "\n").replace("model", "### model").replace("\nacc", "\n## acc")),
    ("own", "| list | value |\n|---|---|\n| " + lists().replace("=", "|").replace("\n", " |\n| ") + " |"),
    ("own", '<model_id>[0, 1]</model_id>\n<subtasks>["A.", "B."]</subtasks><access_list>[[], [0]]</a>'),
    ("PY", lists("(0, 1)", '("A.", "B.")', "([], [0])")),
    ("PY", lists(access="[(), (0,)]")),
    ("own", lists("[0.0, 1.0]", access="[[], [0.0]]")),
    ("RX", lists('["0: alpha", "1: beta"]')),
    ("RX", lists('["0 (alpha)", "Model 1: beta"]')),
    ("own", lists('["[0]", "[1]"]', access='["[]", "[0]"]')),
    ("own", lists(access='[[], "[\'all\']"]')),
    ("own", lists(access="[[], [[0]]]")),
    ("LM", '[{"modelId": 0, "subtask": "A.", "accessList": []}, ' + SECOND + "]"),
    ("LM", f'{{"plan": [{STEP}, {SECOND}]}}'),
    ("LK", r'"{\"model_id\": [0, 1], \"subtasks\": [\"A.\", \"B.\"], \"access_list\": [[], [0]]}"'),
    ("JR", r'{\n\"model_id\": [0, 1],\n\"subtasks\": [\"A.\", \"B.\"], \"access_list\": [[], [0]]}'),
    *(("own", lists().replace("=", sign)) for sign in ("->", "→")),
    ("own", "model_id: list[int] = [0, 1]\nsubtasks: List[str] = ['A.', 'B.']\n"
     "access_list: list[list[int] | str] = [[], [0]]"),
    ("own", 'model_id:\n  - 0\n  - 1\nsubtasks:\n  - A.\n  - "B."\naccess_list:\n  - []\n  - [0]'),
    ("own", "model_ids:\r\n- 0\r\n- 1\r\nsubtasks:\r\n- 'A.'\r\n- B.\r\naccess:\r\n- []\r\n- [0]\r\nDone."),
    ("JR", f"{STEP}\n{SECOND}"),
    ("JR", f"```json\n{STEP}\n\n{SECOND}\n```"),
    ("RX", lists('["model_0", "model_1"]')),
    ("RX", lists('["Worker 0", "Agent #1"]')),
    ("RX", lists('["#0", "#1"]')),
    ("own", "const " + lists().replace("\n", ";\nconst ").replace("model_id", "modelId") + ";"),
    ("own", "ｍｏｄｅｌ＿ｉｄ＝［０，１］\nｓｕｂｔａｓｋｓ＝［“A.”，“B.”］\n"
     "ａｃｃｅｓｓ＿ｌｉｓｔ＝［［］，［０］］"),
    ("VL", r'{"model_id": "[0, 1]", "subtasks": "[\"A.\", \"B.\"]", "access_list": "[[], [0]]"}'),
]  # fmt: skip


@pytest.mark.parametrize(("source", "text"), TWO)
def test_other_marks_and_shapes_are_read_and_named(source: str, text: str) -> None:
    report = read(text)
    assert report.workflow is not None, report.problems
    assert [(step.worker, step.instruction, step.access) for step in report.workflow.steps] == [
        ("alpha", "A.", ()),
        ("beta", "B.", (0,)),
    ]
    assert {loose.kind for loose in report.repairs} <= set(get_args(RepairKind))
    assert report.repairs or any(blank in text for blank in "\u00a0\u202f\u3000\u200b\ufeff\u2060")
    assert not parse(text, workers=POOL, strict=True).ok or any(x in text for x in "\u00a0\u202f\u3000")


@pytest.mark.parametrize("text", [lists().replace("=", sign) for sign in (":=", "==", "=>")])
def test_a_sign_that_only_begins_or_ends_as_the_published_one_is_read_and_named(text: str) -> None:
    report = read(text)
    assert report.workflow is not None, report.problems
    assert [step.worker for step in report.workflow.steps] == ["alpha", "beta"]
    assert "other-marks" in {loose.kind for loose in report.repairs}


def test_marks_inside_a_text_and_a_plan_that_is_whole_stay_as_they_are() -> None:
    text = lists("[0]", '["说“你好”，再算［1］（x）：＝。"]', "[[]]")
    report = read(f"模型：［9］ access：【7】\n{text}\n[{STEP}]")
    assert report.workflow is not None
    assert report.workflow.steps[0].instruction == "说“你好”，再算［1］（x）：＝。"
    assert (report.repairs, len(report.candidates)) == ((), 1)


@pytest.mark.parametrize(
    "text",
    [
        f"I cannot plan this: files are missing. The format would be:\n```python\n{ONE}\n```\nPlease send.",
        f"The format is:\n{ONE}\nI need the files first.",
        f"Sorry. For example:\n{ONE}",
        f"我无法规划。格式如下：\n{ONE}",
        *(
            f"It looks like this:\n{ONE.replace('A.', each)}"
            for each in ("...", "…", "<instruction>", "[task]")
        ),
        *(f"{ONE.replace('A.', each)}" for each in ("Your instruction here", "subtask 1", "{instruction}")),
    ],
)
def test_an_example_of_the_form_is_no_plan(text: str) -> None:
    report = read(text)
    assert not report.ok
    assert "placeholder" in report.problems[0].message or "example" in report.problems[0].message


@pytest.mark.parametrize(
    "text",
    [
        f"Alpha cannot compute it, so this is the plan in the required format:\n{ONE}",
        f"I need the files, for example. Plan:\n{ONE}\nThat is the plan.",
        f"For example:\n{ONE}",
    ],
)
def test_a_plan_that_is_meant_counts_whatever_its_reasoning_states(text: str) -> None:
    assert read(text).ok


@pytest.mark.parametrize(
    ("form", "text", "words"),
    [
        ("json", '{"model_id": [0], "subtasks": ["A."]}', "key steps. It has an object with the keys"),
        ("json", "model_id = [0]\nsubtasks = ['A.']", "key steps. It has the labels model_id, subtasks"),
        ("json", '{"tasks": [{"agent": 0, "task": "A."}]}', "keys 'tasks', 'agent', 'task'"),
        ("json", '{"steps": [{"instruction": "A.", "worker": 0, "access": []}]}',
         "under the key model_id (its keys are 'instruction', 'worker', 'access')"),
        ("lists", '{"步骤": [{"指令": "A."}]}', "model_id, subtasks and access_list. It has an object"),
        ("names", "Let alpha do it.", "workers' names in model_id"),
        ("lists", "model_id：［0］\nsubtasks：［'A.'］", "The list access_list is missing"),
        ("lists", lists(access='[[], ["none"]]'), "Step 2 has the access entry 'none'"),
        ("lists", lists("［9， 1］"), "Step 1 asks for worker 9"),
    ],
)  # fmt: skip
def test_a_message_names_the_form_that_was_asked_for_and_what_is_there(
    form: Form, text: str, words: str
) -> None:
    assert any(words in problem.message for problem in read(text, form).problems), read(text, form).problems
