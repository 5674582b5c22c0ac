"""Calls that a model writes into its text are calls where the tools were offered, and text elsewhere."""

from __future__ import annotations

import pytest

from conductor.text.thoughts import ThoughtReader
from conductor.workers.endpoint.reply.call_texts import CallTexts

TOOLS = frozenset({"f", "g"})
JSON = '{"name": "f", "arguments": {"a": 1}}'
ARGUMENTS = '{"a": 1}'
ONE = [("f", {"a": 1})]
FORMS: list[tuple[str, str]] = [
    ("Hermes, Qwen", f"<tool_call>\n{JSON}\n</tool_call>"),
    ("GLM", "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"),
    ("Qwen-Coder", "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"),
    ("Mistral 7B", f"[TOOL_CALLS][{JSON}]"),
    ("Mistral Small", '[TOOL_CALLS]f[ARGS]{"a": 1}'),
    ("Llama 3.1", '<|python_tag|>{"name": "f", "parameters": {"a": 1}}'),
    ("Llama 3, bare", '{"name": "f", "parameters": {"a": 1}}'),
    ("small models", f"```json\n{JSON}\n```"),
    ("Llama 3.1, own", '<function=f>{"a": 1}</function>'),
    ("Llama 4, Olmo", "[f(a=1)]"),
    ("LFM2", "<|tool_call_start|>[f(a=1)]<|tool_call_end|>"),
    (
        "Kimi",
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}'
        "<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "DeepSeek",
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜>",
    ),
    (
        "DeepSeek V3",
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{ARGUMENTS}\n```",
    ),
    (
        "DeepSeek V3.2",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="false">1'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    ("Gemma 4", "<|tool_call>call:f{a:1}<tool_call|>"),
    ("FunctionGemma", "<start_function_call>call:f{a:1}<end_function_call><start_function_response>"),
    ("Granite 3, Phi-4-mini", f"<|tool_call|>[{JSON}]<|/tool_call|>"),
    ("Jamba, Hunyuan", f"<tool_calls>[{JSON}]</tool_calls>"),
    ("Nemotron", f"<TOOLCALL>[{JSON}]</TOOLCALL>"),
    ("InternLM", f"<|action_start|><|plugin|>\n{JSON}<|action_end|>"),
    ("Mistral 11", f"[TOOL_CALLS]f{ARGUMENTS}"),
    ("Mistral 13", f"[TOOL_CALLS]f[CALL_ID]a1B2c3D4e[ARGS]{ARGUMENTS}"),
    (
        "Claude's",
        '<function_calls><invoke name="f"><parameter name="a">1</parameter></invoke></function_calls>',
    ),
    ("Phi-4", f"functools[{JSON}]"),
    (
        "Command",
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "f", "parameters": {"a": 1}}]<|END_ACTION|>',
    ),
    (
        "MiniMax",
        '<minimax:tool_call>\n<invoke name="f">\n<parameter name="a">1</parameter>\n</invoke>\n'
        "</minimax:tool_call>",
    ),
    (
        "MiniMax M3",
        ']<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name="f">\n]<]minimax[>[<a>1]<]minimax[>[</a>\n'
        "]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    ),
    ("MiniMax M3, its marks left out", '<tool_call>\n<invoke name="f">\n<a>1</a>\n</invoke>\n</tool_call>'),
    ("Seed", "<seed:tool_call><function=f><parameter=a>1</parameter></function></seed:tool_call>"),
    # vLLM's parsers of calls, by the forms that their docstrings have.
    ("LongCat", f"<longcat_tool_call>{JSON}</longcat_tool_call>"),
    ("Granite 20B", f"<function_call> {JSON}"),
    ("Olmo 3", "<function_calls>\nf(a=1)\n</function_calls>"),
    ("Llama 3.2", "<|python_tag|>f(a=1)"),
    ("Llama 3.1, built-in tools", "<|python_tag|>f.call(a=1)"),
    ("Llama 4, tokens", "<|python_start|>[f(a=1)]<|python_end|>"),
    ("Apertus", '<|tools_prefix|>[{"f": {"a": 1}}]<|tools_suffix|>'),
    (
        "Step 3",
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>"
        '<steptml:invoke name="f"><steptml:parameter name="a">1</steptml:parameter></steptml:invoke>'
        "<｜tool_call_end｜><｜tool_calls_end｜>",
    ),
    ("GigaChat 3", f"function call<|role_sep|>\n{JSON}"),
    ("GigaChat 3.5", f"<|function_call|>{JSON}"),
    (
        "Hunyuan V3",
        "<tool_calls><tool_call>f<tool_sep><arg_key>a</arg_key>\n<arg_value>1</arg_value></tool_call>",
    ),
    (
        "Kimi K3",
        '<|open|>tools<|sep|><|open|>call tool="f" index="1"<|sep|>'
        '<|open|>argument key="a" type="number"<|sep|>1'
        "<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    ),
    ("Kimi K2 without a section", '<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1}'),
    (
        "Solar Open 2",
        "<|tool_call:start|>f\n<|tool_arg:start|>a<|tool_arg:value|>1<|tool_arg:end|>\n<|tool_call:end|>",
    ),
    (
        "PLaMo 3",
        "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>f"
        '<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>{"a": 1}'
        "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>",
    ),
    (
        "DeepSeek V4",
        '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="f">\n<｜DSML｜parameter name="a" string="false">1'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ),
    ("HyperCLOVA X SEED", f"-> tool/function_call\n[{JSON}]"),
    # Model cards: Command R, Qwen-Agent, Gemma 3, Functionary; own: keys that small models write.
    ("Command R", 'Action: ```json\n[{"tool_name": "f", "parameters": {"a": 1}}]\n```'),
    ("Qwen-Agent", '✿FUNCTION✿: f\n✿ARGS✿: {"a": 1}\n✿RESULT✿'),
    ("Gemma 3", "```tool_code\nf(a=1)\n```"),
    ("Functionary", '<|recipient|>f\n<|content|>{"a": 1}'),
    ("small models, a fence", f"```tool_call\n{JSON}\n```"),
    ("small models, keys", '<tool_call>{"tool": "f", "args": {"a": 1}}</tool_call>'),
]

HARMONY = (
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
    "<|channel|>commentary to=functions.f json<|message|>{}<|call|>",
    "<|channel|>commentary to=functions.f<|message|>{}",
    "<|channel|>analysis to=functions.f code<|message|>{}<|call|>",
    "<|start|>assistant to=functions.f<|channel|>commentary<|message|>{}<|call|>",
    "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|end|>",
    " to=functions.f<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
    "commentary to=functions.f json{}",
    "analysisSo.assistantcommentary to=functions.f json{}",
    "<|channel|>analysis<|message|>So<|end|><|channel|>commentary to=functions.f<|message|>{}<|call|>",
)
"""What servers hand through of a call by gpt-oss."""


def _read(pieces: list[str], tools: frozenset[str] = TOOLS) -> tuple[str, list[tuple[str, object]]]:
    texts = CallTexts(tools)
    text = "".join([texts.feed(piece) for piece in pieces])
    rest, calls = texts.end()
    return text + rest, [(call["function"]["name"], call["function"]["arguments"]) for call in calls]


def _answers(pieces: list[str]) -> list[str]:
    """What is left of pieces of a text without thoughts; the last of them that were recalled are none."""
    reader, answers = ThoughtReader(), list[str]()
    for piece in (*(each for text in pieces for each in reader.feed(text)), *reader.end()):
        answers = [] if piece.kind == "recalled" else answers
        answers += [piece.text] if piece.kind == "answer" else []
    return answers


@pytest.mark.parametrize(("model", "text"), FORMS, ids=[model for model, _ in FORMS])
def test_a_call_in_the_text_is_read_in_every_form(model: str, text: str) -> None:
    assert _read([text]) == _read([*text]) == ("", ONE), model
    assert _read([text], frozenset()) == (text, [])
    assert _read([*text], frozenset({"h"})) == (text, []), "a tool that was not offered"


@pytest.mark.parametrize("form", HARMONY)
def test_calls_of_gpt_oss_are_read_behind_its_thoughts(form: str) -> None:
    text = form.replace("{}", ARGUMENTS)
    for pieces in ([text], [*text]):
        answers = _answers(pieces)
        assert (_read(answers)[0].strip(), _read(answers)[1]) == ("", ONE)
        assert _read(answers, frozenset({"functions", "h"}))[1] == []


def test_a_preamble_of_gpt_oss_is_text_and_its_calls_follow() -> None:
    head, call = "<|start|>assistant<|channel|>commentary", ' to=functions.{}<|message|>{{"a": 1}}<|call|>'
    text = f"{head}<|message|>I look.<|end|>{head}{call.format('f')}{head}{call.format('g')}"
    for pieces in ([text], [*text]):
        assert _read(_answers(pieces)) == ("I look.", [*ONE, ("g", {"a": 1})])


def test_lines_of_python_are_calls_each_and_a_call_may_have_no_arguments() -> None:
    assert _read(["<function_calls>\nf(a=1)\ng(b=[2, '3'])\n</function_calls>"]) == (
        "",
        [*ONE, ("g", {"b": [2, "3"]})],
    )
    assert _read(['<tool_call>{"name": "f"}</tool_call>']) == ("", [("f", {})])
    wire = '{"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}'
    assert _read([wire]) == _read([*wire]) == ("", [("f", "{}")])


def test_parameters_that_are_tags_are_texts_or_json() -> None:
    body = "<cmd>ls <b>-l</b>\n</cmd><n>[1, 2]</n><open>"
    call = f'<tool_call><invoke name="f">{body}</invoke></tool_call>'
    assert _read([call]) == ("", [("f", {"cmd": "ls <b>-l</b>", "n": [1, 2]})])
    for call in ('<invoke name="f"></invoke>', "<tool_call>f</tool_call>", "<function=f></function>"):
        assert _read([f"{call} and <b>so</b>"])[1] == [("f", {})], "no parameters"


@pytest.mark.parametrize("quote", ['<|"|>', "<escape>"])
def test_every_kind_of_value_of_gemma_is_read(quote: str) -> None:
    words = f'a "b", {{c: \\d}}\n{quote[:2]}e'
    text = f"{quote}{words}{quote}"
    mark = "<|tool_call>" if quote.startswith("<|") else "<start_function_call>"
    call = f'{mark}call:f{{t:{text},n:-3.5,b:true,z:null,o:{{k-1:[{text},"x: {{y:1}}"],e:{{}}}}}}'
    value = {"t": words, "n": -3.5, "b": True, "z": None, "o": {"k-1": [words, "x: {y:1}"], "e": {}}}
    assert _read([call]) == _read([*call]) == ("", [("f", value)])


def test_words_before_a_mark_stay_text_and_several_calls_are_read() -> None:
    other = JSON.replace('"f"', '"g"')
    two = f"Let me look.\n<tool_call>{JSON}</tool_call>\n<tool_call>{other}</tool_call>"
    assert _read([two]) == _read([*two]) == ("Let me look.\n", [*ONE, ("g", {"a": 1})])


@pytest.mark.parametrize(
    "text",
    [
        "A tag <tool_cal and [TOOL are text.",
        "The form is <tool_call>...</tool_call>.",
        f"As in {JSON}",
        f"{JSON} would be a call.",
        '{"name": "f", "arguments": {"a": 1}, "note": "an answer"}',
        '{"name": "Ada", "born": 1815}',
        '{"answer": 42}',
        "[1, 2, 3]",
        '<tool_call>{"name": "f", "argum',
        "[f(a=b)]",
        "f(a=1)",
        "```python\nf(a=1)\n```",
        "```tool_code\nprint(f(a=1))\n```",
        "<|python_tag|>import os\nf(a=1)",
        "<tool_call>" + "f(" * 5_000,
        "]<]minimax[>[ is a mark.",
        "]<]minimax[>[" * 5_000,
        '{"f": {"a": 1}}',
        '{"tool_calls": []}',
        "Action: think; then -> tool",
        "[f(" + "(" * 5_000,
        "<tool_call>" + "[" * 100_000,
        "<|tool_call>call:f{a:b c}",
        "<|tool_call>call:f{" + '\\"' * 50_000,
        "The recipient is written to=functions.f in it.",
        "Pass it to=functions.",
        'to=functions.f2 json{"a": 1}',
        "   ",
        "",
    ],
)
def test_what_is_no_call_stays_text(text: str) -> None:
    assert _read([text]) == _read([*text]) == (text, [])


def test_text_is_handed_on_at_once() -> None:
    texts = CallTexts(TOOLS)
    assert [texts.feed(piece) for piece in ("Hello ", "a < b", " <tool", " [x]")] == [
        *("Hello ", "a < b", " ", "<tool [x]")
    ]
