"""What a completion is read as: the dialects, the loose writing that is understood, the errors."""

from typing import get_args

import pytest

from conductor.planner.parsing.literals import RepairKind
from conductor.planner.parsing.parse import parse
from conductor.workflow.model import MAX_INSTRUCTION
from conductor.workflow.plan_report import Dialect, Form

POOL = ("Alpha", "Beta", "Gamma")


def lists(models: str = "[0, 1]", subtasks: str = '["a", "b"]', access: str = "[[], [0]]") -> str:
    return f"model_id = {models}\nsubtasks = {subtasks}\naccess_list = {access}"


def access_entries(*entries: str) -> str:
    """A plan with one step an entry, on workers 0, 1, 2, 0, 1 ..."""
    models = [i % len(POOL) for i in range(len(entries))]
    subtasks = ", ".join(f'"task {i}"' for i in range(len(entries)))
    return lists(str(models), f"[{subtasks}]", f"[{', '.join(entries)}]")


def kinds(text: str, dialect: Dialect = "any") -> list[str]:
    return [repair.kind for repair in parse(text, workers=POOL, dialect=dialect).repairs]


def messages(text: str, dialect: Dialect = "any") -> list[tuple[int | None, str]]:
    problems = parse(text, workers=POOL, dialect=dialect).problems
    return [(problem.step, problem.message) for problem in problems]


@pytest.mark.parametrize(
    ("text", "ok", "first"),
    [
        (lists(), True, ""),
        (lists()[:-3], False, "The answer was cut off at its token limit"),
        ('{"reasoning": "So", "steps": [{"instruction": "a"', False, "The answer was cut off"),
        ("<think>long", False, "The answer was cut off"),
        ("", False, "The answer was cut off"),
        (lists(models="[9, 1]") + "\nBetter:", False, "The answer was cut off"),
    ],
)
def test_a_text_that_ends_at_its_token_limit_is_called_cut_unless_its_plan_is_whole(
    text: str, ok: bool, first: str
) -> None:
    report = parse(text, workers=POOL, cut=True)
    assert report.ok is ok
    assert "".join(problem.message for problem in report.problems[:1]).startswith(first)


@pytest.mark.parametrize(
    ("form", "words"), [("json", "one JSON object that has the key steps"), ("lists", "the lists model_id")]
)
def test_a_text_without_a_plan_is_sent_the_form_that_was_asked_for(form: Form, words: str) -> None:
    (problem,) = parse("Just ask Alpha.", workers=POOL, form=form).problems
    assert words in problem.message


def test_a_plan_as_published_needs_no_repair() -> None:
    report = parse("Let me see.\n" + access_entries("[]", "[0]", '["all"]') + "\n", workers=POOL)
    assert report.workflow is not None
    assert [(step.worker, step.instruction, step.access) for step in report.workflow.steps] == [
        ("Alpha", "task 0", ()),
        ("Beta", "task 1", (0,)),
        ("Gamma", "task 2", (0, 1)),
    ]
    assert report.candidate is not None
    assert report.candidate.worker_indices == (0, 1, 2)
    assert report.candidate.written_access == ("[]", "[0]", '["all"]')
    assert (report.repairs, report.problems, report.reasoning) == ((), (), "Let me see.")


@pytest.mark.parametrize(
    ("dialect", "entries", "access"),
    [
        ("any", ("[]", "[0]", "[0, 1]"), ((), (0,), (0, 1))),
        ("any", ("[]", '["all"]', '[0, "all"]'), ((), (0,), (0, 1))),
        ("any", ("[]", "[0]", "[1, 0, 1]"), ((), (0,), (0, 1))),
        ("any", ("[]", '"all"', "[]"), ((), (0,), ())),
        ("any", ('["all"]', "[]", "[]"), ((), (), ())),
        ("binary", ("[]", '"all"', '["all"]'), ((), (0,), (0, 1))),
        ("position", ("[]", "[0]", "[0, 1]"), ((), (0,), (0, 1))),
        ("worker", ("[]", "[0]", "[0, 1]"), ((), (0,), (0, 1))),
        ("worker", ("[]", "[1]", "[0]", "[0]", "[0]"), ((), (), (0,), (0,), (0, 3))),
        ("worker", ("[0]", "[]", "[]"), ((), (), ())),
    ],
)
def test_a_legal_access_entry_means_earlier_steps(
    dialect: Dialect, entries: tuple[str, ...], access: tuple[tuple[int, ...], ...]
) -> None:
    report = parse(access_entries(*entries), workers=POOL, dialect=dialect)
    assert report.workflow is not None, report.problems
    assert tuple(step.access for step in report.workflow.steps) == access
    assert report.candidate is not None
    assert report.candidate.written_access == entries


def test_all_without_brackets_is_the_binary_dialects_own_way() -> None:
    assert kinds(access_entries("[]", '"all"'), "binary") == []
    assert kinds(access_entries("[]", '"all"'), "any") == ["bare-access"]


STEP_A = '{"instruction": "a", "agent": 0, "access": []}'
STEP_B = '{"instruction": "b", "agent": 1, "access": [0]}'
REPAIRED = [
    ("code-fence", f"```python\n{lists()}\n```"),
    ("code-fence", "model_id =\n```\n[0, 1]\n```\n" + lists().partition("\n")[2]),
    ("backtick", lists().replace("model_id = [0, 1]", "`model_id = [0, 1]`")),
    ("backtick", lists().replace("[0, 1]", "`[0, 1]`")),
    ("bold-label", lists().replace("subtasks", "**subtasks**")),
    ("bold-label", lists().replace("subtasks =", "**subtasks =**")),
    ("bullet", lists().replace("model_id", "- model_id")),
    ("bullet", lists().replace("subtasks", "2. subtasks")),
    ("colon-label", lists().replace("model_id =", "model_id:")),
    ("colon-label", lists().replace("model_id =", "model_id:\n")),
    *(
        ("label-variant", lists().replace("model_id", label))
        for label in ("model id", "Model_IDs", "model ids")
    ),
    *(("label-variant", lists().replace("subtasks", label)) for label in ("subtask", "Subtasks", "SUBTASKS")),
    *(
        ("label-variant", lists().replace("access_list", label))
        for label in ("access list", "access", "Access")
    ),
    ("typographic-quotes", lists(subtasks="[“a”, “b”]")),
    ("typographic-quotes", lists(subtasks="[‘a’, ‘b’]")),
    ("typographic-quotes", "{“steps”: [{“subtask”: “a”, “agent”: 0, “access”: []}, " + STEP_B + "]}"),
    ("triple-quotes", lists(subtasks="[“““a”””, ‘‘‘b’’’]")),
    ("triple-quotes", lists(subtasks="[”””a”””, „„„b“““]")),
    *(
        ("quoted-plan", f"{opening}{plan}{closing}")
        for plan in (lists(), lists().replace('"', "”"), '{"steps": [' + STEP_A + ", " + STEP_B + "]}")
        for opening, closing in [
            ("“", "”"),
            ("‘", "’"),
            ("“\n", "\n”"),
            ("„", "“."),
            ('Here it is: "', '"'),
            ('"""', '"""'),
            ("'''\n", "\n'''\n"),
            ("```\n“", "”\n```"),
        ]
    ),
    ("number-as-string", lists(models='["0", "1"]')),
    ("number-as-string", lists(access='[[], ["0"]]')),
    ("bare-access", lists(access="[[], 0]")),
    ("bare-access", lists(access='[[], "all"]')),
    ("repeated-access", lists(access="[[], [0, 0]]")),
    ("repeated-access", lists(access='[[], ["0", "0"]]')),
    ("repeated-access", lists(access='[[], ["all", 0]]')),
    ("bare-word", lists(access="[[], [all]]")),
    ("bare-word", lists(models="[alpha, 1]")),
    ("trailing-comma", lists(models="[0, 1,]")),
    ("trailing-comma", lists(access="[[], [0,]]")),
    ("comment", lists(models="[0,  # first\n 1]")),
    ("comment", lists(models="[0, // first\n 1 // second\n]")),
    ("comment", lists(models="[0, /* the second: */ 1]")),
    ("comment", lists(subtasks="['a', // first\n 'b' // second\n]")),
    ("triple-quotes", lists(subtasks='["""a""", """b"""]')),
    ("triple-quotes", lists(subtasks="['''a''', '''b''']")),
    ("worker-name", lists(models='["alpha", "BETA"]')),
    ("json-object", '{"model_id": [0, 1], "subtasks": ["a", "b"], "access_list": [[], [0]]}'),
    ("json-object", '{"plan": {"access": [[], [0]], "subtasks": ["a", "b"], "model ids": [0, 1]}}'),
    ("json-object", "{'model_id': [0, 1], 'subtasks': ['a', 'b'], 'access_list': [[], [0]]}"),
    ("missing-bracket", lists()[:-1]),
    ("missing-bracket", lists()[:-1] + "\n```\n"),
    ("missing-bracket", '{"model_id": [0, 1], "subtasks": ["a", "b"], "access_list": [[], [0]]'),
    *(
        (
            "json-steps",
            f'{{"steps": [{{"{task}": "a", "{worker}": 0, "{access}": []}},'
            f'{{"{worker}": 1, "{access}": [0], "{task}": "b"}}]}}',
        )
        for task, worker, access in [
            ("instruction", "agent", "access"),
            ("subtask", "model", "access_list"),
            ("instruction", "model_id", "access"),
            ("Subtask", "assigned_agent", "access_list"),
        ]
    ),
]


JSON_STEPS = '{"steps": [{"instruction": "a", "agent": 0, "access": []}]}'


@pytest.mark.parametrize(
    ("form", "text", "repairs"),
    [
        ("json", JSON_STEPS, []),
        ("lists", JSON_STEPS, ["json-steps"]),
        ("json", JSON_STEPS.replace("0", '"0"'), ["number-as-string"]),
        ("json", "model_id = ['alpha']\nsubtasks = ['a']\naccess_list = [[]]", ["worker-name"]),
    ],
)
def test_the_form_that_was_asked_for_is_no_repair(form: Form, text: str, repairs: list[str]) -> None:
    report = parse(text, workers=POOL, form=form)
    assert report.ok
    assert [repair.kind for repair in report.repairs] == repairs


@pytest.mark.parametrize(("kind", "text"), REPAIRED)
def test_what_is_written_loosely_is_understood_and_named(kind: str, text: str) -> None:
    report = parse(text, workers=POOL)
    assert report.workflow is not None, report.problems
    assert [(step.worker, step.instruction, step.access) for step in report.workflow.steps] == [
        ("Alpha", "a", ()),
        ("Beta", "b", (0,)),
    ]
    assert kind in {repair.kind for repair in report.repairs}
    assert {repair.kind for repair in report.repairs} <= set(get_args(RepairKind))


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("Read ", "”"),
        ("“", ""),
        ("I call it “done”\n", "\nThat is “it”."),
        ("“", "’"),
        ("“\nSo:\n", "\n”"),
        ('so "', '"quote"'),
    ],
)
def test_quotes_that_do_not_wrap_the_plan_are_of_the_reasoning(opening: str, closing: str) -> None:
    report = parse(f"{opening}{lists()}{closing}", workers=POOL)
    assert report.ok
    assert report.repairs == ()


def test_quotes_around_a_plan_are_shown_where_they_stand_and_are_no_reasoning() -> None:
    report = parse(f"So: “\n{lists()}\n” is it.", workers=POOL)
    [named] = report.repairs
    assert (named.kind, named.span) == ("quoted-plan", (4, len(report.text) - len(" is it.")))
    assert report.reasoning == "So:\n\nis it."


@pytest.mark.parametrize(
    "text",
    [
        "model_id = [0, 1] subtasks = ['a', 'b'] access_list = [[], [0]]",
        "model_id = [0, 1].\nsubtasks = ['a', 'b'].\naccess_list = [[], [0]].",
        "access_list = [[], [0]]\nmodel_id = [0, 1]\nsubtasks = ['a', 'b']",
        'model_id = [\n 0,\n 1\n]\nsubtasks = [\n "a",\n "b"\n]\naccess_list = [\n [],\n [0]\n]',
        "model_id = [0, 1] and subtasks = ['a', 'b'] and access_list = [[], ['all']] as said.",
        "model_id = [0, 1]\nsubtasks = ['a', 'b'] (two of them)\naccess_list = [[], ['all']] - it's small.",
        "<answer>model_id = [0, 1]\nsubtasks = ['a', 'b']\naccess_list = [[], ['all']]</answer>",
        "| model_id = [0, 1] | subtasks = ['a', 'b'] | access_list = [[], ['all']] |",
    ],
)
def test_order_and_line_breaks_are_free(text: str) -> None:
    report = parse(text, workers=POOL)
    assert report.ok
    assert report.repairs == ()


@pytest.mark.parametrize(
    ("written", "instruction", "repaired"),
    [
        (r'"line\nbreak \"quoted\" back\\slash\ttab \/"', 'line\nbreak "quoted" back\\slash\ttab /', []),
        (r'"\u00e9\ud83d\ude00\x41\U0001F600"', "\u00e9\U0001f600A\U0001f600", []),
        (r"'it\'s'", "it's", []),
        (r'"keep \d and \( as they are"', r"keep \d and \( as they are", []),
        ('"  spaces stay  "', "  spaces stay  ", []),
        ('"Return [1, 2], then ] or [[ or {x}."', "Return [1, 2], then ] or [[ or {x}.", []),
        ('"model_id = [7] and access_list = [[]]"', "model_id = [7] and access_list = [[]]", []),
        ("'Say \"hi\", then stop'", 'Say "hi", then stop', []),
        ("'Check the user's code and don't stop'", "Check the user's code and don't stop", ["apostrophe"]),
        ("'Print 'hello''", "Print 'hello'", ["apostrophe"]),
        ("“Print “hello””", "Print “hello”", ["typographic-quotes"]),
        ("'the workers', plan, then go'", "the workers', plan, then go", ["apostrophe"]),
        ("'see table['x'] for it'", "see table['x'] for it", ["apostrophe"]),
        ("'first x['a'], then y[z['b']].'", "first x['a'], then y[z['b']].", ["apostrophe"]),
        ("'the [users'] and x[''] in it'", "the [users'] and x[''] in it", ["apostrophe"]),
        ('"two\nlines"', "two\nlines", ["raw-newline"]),
        ('"Rules:\n- access: [read]\nGo on"', "Rules:\n- access: [read]\nGo on", ["raw-newline"]),
        ('"""three "quoted"\nlines"""', 'three "quoted"\nlines', ["triple-quotes"]),
        ("“Don’t say “no”, say yes”", "Don’t say “no”, say yes", ["typographic-quotes"]),
        ("‘Don’t’", "Don’t", ["typographic-quotes", "apostrophe"]),
        ("“““three “quoted”\nlines”””", "three “quoted”\nlines", ["triple-quotes"]),
        ('"it’s “fine”"', "it’s “fine”", []),
        ('"text # no comment"', "text # no comment", []),
        ("\"__import__('os')\"", "__import__('os')", []),
    ],
)
def test_an_instruction_keeps_its_exact_text(written: str, instruction: str, repaired: list[str]) -> None:
    report = parse(lists("[0]", f"[{written}]", "[[]]"), workers=POOL)
    assert report.workflow is not None, report.problems
    assert report.workflow.steps[0].instruction == instruction
    assert [repair.kind for repair in report.repairs] == repaired


@pytest.mark.parametrize(
    ("text", "step", "words"),
    [
        (lists(models="[0]"), None, "different lengths (model_id 1, subtasks 2, access_list 2)"),
        (lists(models="[0, 9]"), 1, "Step 2 asks for worker 9"),
        (lists(models="[0, -1]"), 1, "Step 2 asks for worker -1"),
        (lists(models="[0, 3]"), 1, "0 (Alpha), 1 (Beta), 2 (Gamma)"),
        (lists(models='[0, "Delta"]'), 1, "Step 2 names the worker 'Delta'"),
        (lists(models="[0.5, 1]"), 0, "Step 1 has 0.5 for its worker"),
        (lists(models="[True, 1]"), 0, "Step 1 has True for its worker"),
        (lists(models="[0, null]"), 1, "Step 2 has null for its worker"),
        (lists(models="[0, [1]]"), 1, "Step 2 has a list for its worker"),
        (lists(access="[[0], []]"), 0, "Step 1 reads itself (written 0); it may read nothing"),
        (lists(access="[[], [1]]"), 1, "Step 2 reads itself (written 1); it may read the numbers"),
        (lists(access="[[1], []]"), 0, "Step 1 reads step 2 (written 1), which is not before it"),
        (lists(access="[[], [7]]"), 1, "Step 2 reads step 8 (written 7)"),
        (lists(access="[[], [-1]]"), 1, "Step 2 reads -1"),
        (lists(access="[[], [0.5]]"), 1, "Step 2 has the access entry 0.5"),
        (lists(access='[[], ["step 1"]]'), 1, "Step 2 has the access entry 'step 1'"),
        (lists(access="[[], [[[0]]]]"), 1, "Step 2 has the access entry a list"),
        (lists(access="[[], None]"), 1, "Step 2 has no access list"),
        (lists(access="[null, []]"), 0, "Step 1 has no access list"),
        (lists().rpartition("\n")[0], None, "The list access_list is missing"),
        (lists().partition("\n")[2], None, "The list model_id is missing"),
        (lists().replace("subtasks = ", "subtasks: see "), None, "subtasks has a label, but no list"),
        (lists(subtasks='["a", ""]'), 1, "Step 2 has an empty subtask"),
        (lists(subtasks='["a", " \\n "]'), 1, "Step 2 has an empty subtask"),
        (lists(subtasks='["a", 7]'), 1, "Step 2 has 7 for its subtask"),
        (lists("[0]", f'["{"x" * (MAX_INSTRUCTION + 1)}"]', "[[]]"), 0, "the limit is 100,000"),
        (access_entries(*["[]"] * 6), None, "The plan has 6 steps; the limit is 5"),
        (access_entries(*["[]"] * 200), None, "The plan has 200 steps; the limit is 5"),
        (lists("[]", "[]", "[]"), None, "The plan has no step"),
        (lists().replace("[", ""), None, "The list subtasks has a label, but no list follows it"),
        ("Just ask Alpha.", None, "There is no plan in the text"),
        ("", None, "There is no plan in the text"),
        ("<think>" + lists(), None, "The text is thinking only"),
        (lists(models="[0, 1"), None, "its closing ] is missing before 'subtasks ='"),
        (lists(models="[0, 1,"), None, "its closing ] is missing before 'subtasks ='"),
        (lists(models="[0 1]"), None, "The list model_id cannot be read: a comma is missing before '1]'"),
        (lists(models="[0]*2"), None, "'[0]*2' is an expression, which is not computed"),
        (lists(models="[0] + [1]"), None, "model_id cannot be read: '[0] + [1]' is an expression"),
        (lists(models="[0, 1][::-1]"), None, "model_id cannot be read: '[0, 1][::-1]' is an expression"),
        (lists(models="[1, 0].reverse()"), None, "'[1, 0].reverse()' is an expression"),
        (lists(models="[0, 1] if x else [1]"), None, "model_id cannot be read: '[0, 1] if x else [1]' is an"),
        (lists(models="[0*1, 1]"), None, "model_id cannot be read: '0*1, 1]' is an expression"),
        (lists(models="[i for i in (0, 1)]"), None, "model_id cannot be read: 'i for i in (0, 1)]' is an"),
        (lists(models="range(2)"), None, "no list follows it ('range(2)' stands there)"),
        (lists(access="[[], [0]*1]"), None, "access_list cannot be read: '[0]*1]' is an expression"),
        (lists(subtasks='["a" * 2, "b"]'), None, '\'"a" * 2, "b"]\' is an expression'),
        (lists(subtasks='[f"a", "b"]'), None, 'subtasks cannot be read: \'f"a", "b"]\' is an expression'),
        ('model_id = [0]\nsubtasks = ["a', None, "the quote that opens '\"a' is not"),
        ('model_id = [0]\nsubtasks = ["a",', None, "the text ends before its closing"),
        (lists()[:-2], None, "The list access_list cannot be read: the text ends before its closing ]"),
        (lists(subtasks='["a" "b"]'), None, "two texts stand side by side, the second"),
        (lists(subtasks="['a''b']"), None, "The list subtasks cannot be read"),
        (lists(subtasks="[“a” “b”]"), None, "The list subtasks cannot be read"),
        (lists(subtasks="['a' 'b']"), None, "The list subtasks cannot be read"),
        (lists(subtasks='["a, "b"]'), None, "The list subtasks cannot be read"),
        (lists(subtasks="['sort ['a', 'b'] now', 'b']"), None, "different lengths"),
        (lists(subtasks="[a(), 'b']"), 0, "Step 1 has a() for its subtask"),
        (lists(models="[0,, 1]"), None, "an entry is missing before a comma"),
        (lists(models="[0, 1}"), None, "} stands where a ] should close it"),
        (lists(models="[" * 50), None, "more than 32 brackets"),
        (lists(models="[0, <think>hm</think> 1]"), None, "thoughts stand inside it"),
        ('{"steps": [{"subtask": "a", "agent": 0}]}', 0, "Step 1 has no access list"),
        ('{"steps": [{"subtask": "a", "access": []}]}', 0, "Step 1 names no worker"),
        ('{"steps": [{"agent": 0, "access": []}]}', 0, "Step 1 has nothing for its subtask"),
        ('{"steps": [{"agent": 0, "access": [}]}', None, "The steps cannot be read"),
        ('{"steps": []}', None, "The plan has no step"),
        ('{"model_id": 0, "subtasks": ["a"], "access_list": [[]]}', None, "it is not a list"),
        ('{"model_id": [0], "subtasks": ["a"]}', None, "The list access_list is missing"),
    ],
)
def test_an_error_names_the_step_and_is_never_repaired(text: str, step: int | None, words: str) -> None:
    report = parse(text, workers=POOL)
    assert not report.ok
    assert report.workflow is None
    assert [problem.step for problem in report.problems if words in problem.message] == [step], (
        report.problems
    )


@pytest.mark.parametrize(
    ("dialect", "entries", "step", "words"),
    [
        ("binary", ("[]", "[0]"), 1, "Step 2 reads 0, but numbers are legal in another dialect only"),
        ("binary", ("[]", '[0, "all"]'), 1, "legal in another dialect only"),
        ("binary", ("[]", "0"), 1, "legal in another dialect only"),
        ("position", ("[]", '"all"'), 1, 'Step 2 reads "all", which is legal in another dialect only'),
        ("position", ("[]", '["all"]'), 1, "legal in another dialect only"),
        ("position", ("[]", '[0, "all"]'), 1, "legal in another dialect only"),
        ("worker", ("[]", '["all"]'), 1, "legal in another dialect only"),
        ("worker", ("[]", "[2]"), 1, "Step 2 reads worker 2, but no earlier step runs on it; write one of 0"),
        ("worker", ("[1]", "[]"), 0, "Step 1 reads worker 1, but no earlier step runs on it; write []"),
        ("worker", ("[]", "[3]"), 1, "Step 2 reads worker 3, which the pool does not have"),
        ("worker", ("[]", "[-1]"), 1, "Step 2 reads worker -1, which the pool does not have"),
        ("worker", ("[]", '["Delta"]'), 1, "Step 2 has the access entry 'Delta'"),
        ("worker", ("[]", "[None]"), 1, "Step 2 has the access entry None"),
        ("worker", ("[]", '["Gamma"]'), 1, "Step 2 reads worker 2, but no earlier step runs on it"),
        ("position", ("[]", '["Alpha"]'), 1, "Step 2 has the access entry 'Alpha'"),
    ],
)
def test_an_entry_of_another_dialect_is_an_error(
    dialect: Dialect, entries: tuple[str, ...], step: int, words: str
) -> None:
    problems = messages(access_entries(*entries), dialect)
    assert [at for at, message in problems if words in message] == [step], problems


def test_every_error_of_a_plan_is_reported() -> None:
    text = lists("[9, 1, 2]", '["", "b"]', "[[0], [2], None]")
    assert [(step, message.split(";")[0][:38]) for step, message in messages(text)] == [
        (None, "The lists have different lengths (mode"),
        (0, "Step 1 asks for worker 9, which the po"),
        (0, "Step 1 has an empty subtask"),
        (0, "Step 1 reads itself (written 0)"),
        (1, "Step 2 reads step 3 (written 2), which"),
        (2, "Step 3 has no access list"),
    ]


@pytest.mark.parametrize(
    ("pool", "written", "worker"),
    [
        (("Same", "same", "Other"), '"OTHER"', 2),
        (("Same", "same", "Other"), "1", 1),
        (("2", "1", "0"), '"2"', 0),
        (("2", "1", "0"), "2", 2),
        (("Step back", "other"), '"step BACK"', 0),
    ],
)
def test_a_worker_is_found_by_number_or_unique_name(pool: tuple[str, ...], written: str, worker: int) -> None:
    report = parse(lists(f"[{written}]", '["a"]', "[[]]"), workers=pool)
    assert report.candidate is not None
    assert report.candidate.worker_indices == (worker,), report.problems


@pytest.mark.parametrize(
    ("written", "kinds"),
    [
        ('["alpha"]', ["worker-name"]),
        ("[ALPHA]", ["bare-word", "worker-name"]),
        ('"Alpha"', ["bare-access", "worker-name"]),
    ],
)
def test_a_worker_whose_steps_are_read_may_be_named_as_well(written: str, kinds: list[str]) -> None:
    report = parse(access_entries("[]", written), workers=POOL, dialect="worker")
    assert report.workflow is not None
    assert report.workflow.steps[1].access == (0,)
    assert [repair.kind for repair in report.repairs] == kinds


def test_a_name_that_two_workers_share_is_an_error_that_lists_them() -> None:
    report = parse(lists('["same"]', '["a"]', "[[]]"), workers=("Same", "other", "same"))
    assert [problem.message for problem in report.problems] == [
        "Step 1 names the worker 'same', which is any of the numbers 0, 2; write one."
    ]


def test_a_pool_worker_without_a_name_is_an_error_not_a_crash() -> None:
    report = parse(lists("[0]", '["a"]', "[[]]"), workers=("",))
    assert [problem.step for problem in report.problems] == [0]


@pytest.mark.parametrize("text", [lists("[]", "[]", "[]"), '{"steps": []}'])
def test_three_empty_lists_return_the_previous_answer_from_the_second_round_on(text: str) -> None:
    assert not parse(text, workers=POOL, round=1).return_previous
    report = parse(text, workers=POOL, round=2)
    assert report.return_previous
    assert report.workflow is None


def test_a_number_that_an_entry_repeats_is_one_problem() -> None:
    problems = messages(lists(access="[[], [7, 7, 8]]"))
    assert [message[:29] for _, message in problems] == [
        "Step 2 reads step 8 (written ",
        "Step 2 reads step 9 (written ",
    ]


def test_a_higher_limit_allows_more_steps_up_to_a_workflows_own() -> None:
    assert parse(access_entries(*["[]"] * 6), workers=POOL, max_steps=6).ok
    report = parse(access_entries(*["[]"] * 101), workers=POOL, max_steps=500)
    assert [problem.message for problem in report.problems] == [
        "The plan has 101 steps; the limit is 100. Plan fewer steps."
    ]


@pytest.mark.parametrize("text", [text for _, text in REPAIRED])
def test_a_repairs_span_lies_in_the_plan_or_the_fence_around_it(text: str) -> None:
    before = "<think>hm</think> Some words.\n"
    report = parse(before + text, workers=POOL)
    assert report.repairs
    for repair in report.repairs:
        start, end = repair.span
        assert len(before) <= start <= end <= len(before) + len(text)


def test_spans_count_in_the_text_as_it_came() -> None:
    text = "<think>" + lists() + "</think>Plan:\n" + lists(models='["0", 1]') + "\nDone."
    report = parse(text, workers=POOL)
    assert [text[slice(*repair.span)] for repair in report.repairs] == ['"0"']
    assert report.candidate is not None
    assert text[slice(*report.candidate.span)] == lists(models='["0", 1]')


def test_the_reasoning_key_of_a_json_plan_is_its_reasoning() -> None:
    step = '{"instruction": "do", "model_id": 0, "access": []}'
    report = parse(f'{{"reasoning": " One fact. ", "steps": [{step}]}}', workers=["alpha"])
    assert (report.ok, report.reasoning) == (True, "One fact.")
    plan = parse('{"reasoning": "It is right.", "steps": []}', workers=["alpha"], round=2)
    assert (plan.return_previous, plan.reasoning) == (True, "It is right.")
