"""Marks of thoughts are read the same in a whole text and wherever a stream is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor.planner.parsing.parse import parse
from conductor.text.thoughts import TextPiece, ThoughtReader, read_thoughts

# Each thinks "hm" and answers "42".
MARKS = {
    "Qwen3, GLM, DeepSeek R1": "<think>hm</think>42",
    "DeepSeek R1, opened in the prompt": "hm</think>42",
    "any case": "<THINK>hm</Think>42",
    "a distilled Qwen3 opens again": "<think><think>hm</think>42",
    "MiniMax M2, interleaved": "<think>h</think><think>m</think>42",
    "Apertus, blocks in turn": "<think>h</think>4<think>m</think>2",
    "behind a first word": "4<think>hm</think>2",
    "a prompt for Claude": "<thinking>hm</thinking>42",
    "EXAONE Deep, Gemini": "<thought>hm</thought>42",
    "Marco-o1": "<Thought>hm</Thought><Output>42</Output>",
    "Open WebUI's list": "<reason>hm</reason>42",
    "GRPO tunes": "<reasoning>hm</reasoning><answer>\n42\n</answer>",
    "Hunyuan A13B": "<think>hm</think>\n<answer>\n42\n</answer>",
    "Granite 3.3": "<think>hm</think><response>42</response>",
    "Seed-OSS": "<seed:think>hm</seed:think>42",
    "MiniMax M3": "<mm:think>hm</mm:think>42",
    "Hunyuan V3": "<hy:think>hm</hy:think>42",
    "LongCat, opened in the prompt": "hm</longcat_think>42",
    "K2-V2": "<think_fast>hm</think_fast>42",
    "Magistral": "[THINK]hm[/THINK]42",
    "Magistral, opened in the prompt": "hm[/THINK]42",
    "Kimi-VL": "◁think▷hm◁/think▷42",
    "Kimi K3": "<|open|>think<|sep|>hm<|close|>think<|sep|><|open|>response<|sep|>42<|close|>response<|sep|>",
    "Command A": "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>42<|END_RESPONSE|>",
    "Command 4": "hm<|END_THINKING|><|START_TEXT|>42<|END_TEXT|>",
    "Apertus": "<|inner_prefix|>hm<|inner_suffix|>42",
    "Gemma 4": "<|channel>thoughthm<channel|>42",
    "Inkling": "<|content_thinking|>hm<|end_message|><|message_model|><|content_text|>42<|end_message|>",
    "PLaMo 3": "<|plamo:begin_think:plamo|>hm<|plamo:end_think:plamo|>42<|plamo:tag|>",
    "openPangu": "[unused16]hm[unused17]42",
    "Sky-T1": "<|begin_of_thought|>hm<|end_of_thought|>\n<|begin_of_solution|>\n42\n<|end_of_solution|>",
    "s1": "<|im_start|>thinkhm<|im_start|>answer\n42",
    "Granite 3.2": "Here is my thought process:hmHere is my response:\n42",
    "Apriel": "Here are my reasoning steps:hm[BEGIN FINAL RESPONSE]\n42\n[END FINAL RESPONSE]\n<|end|>",
    "Ollama's terminal": "Thinking...\nhm...done thinking.\n\n42",
    "HuatuoGPT-o1": "## Thinking\nhm## Final Response\n42",
    "harmony": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|message|>42<|end|>",
    "harmony, preamble": (
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>4<|end|>"
        "<|start|>assistant<|channel|>final <|constrain|>json<|message|>2"
    ),
    "harmony without its tokens": "hmassistantfinal42",
    "Muse in its prompt": " to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>42<|eot|>",
    "Muse": "<|start|>assistant to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>42<|eot|>",
    "Open WebUI": '<details type="reasoning" done="true">hm</details>\n42',
    "GLM-4.5V": "<think>hm</think><|begin_of_box|>42<|end_of_box|>",
    # vLLM's and SGLang's parsers of reasoning, and the chat templates that they name.
    "Solar Open 2": "<|think:start|>hm<|think:end|>42",
    "Solar Open 2, opened in the prompt": "hm<|think:end|>42",
    "Solar Open": "<|think|>hm<|end|><|begin|>assistant<|content|>42<|end|>",
    "CWM, Llama": "<|reasoning_thinking_start|>hm<|reasoning_thinking_end|>42<|eot_id|>",
    "HyperCLOVA X SEED 14B": "/think\nhm<|im_end|>\n<|im_start|>assistant\n42<|im_end|>",
    "Kimi K3 answers at once": "<|open|>think<|sep|>hm<|open|>response<|sep|>42<|close|>message<|sep|>",
    "Kimi K3, opened in the prompt": "hm<|open|>response<|sep|>42",
    "Command 4 answers at once": "<|START_THINKING|>hm<|START_TEXT|>42<|END_TEXT|>",
    "Llama's names": "<|thinking_start|>hm<|thinking_end|>42",
    "tunes of Bespoke's": "<|begin_of_thinking|>hm<|end_of_thinking|>\n\n42<|endoftext|>",
    "GLM-Z1, in Cherry Studio": "###Thinking\nhm###Response\n42",
    "GLM-Z1, spaced": "### Thinking\nhm### Response\n42",
    "Unsloth's notebooks": "<start_working_out>hm<end_working_out>\n<SOLUTION>42</SOLUTION>",
    "LLaVA-CoT": "<REASONING>hm</REASONING><CONCLUSION>42</CONCLUSION>",
    "Claude's own": "<antThinking>hm</antThinking>42",
    "a prompt for Claude, scratchpad": "<scratchpad>hm</scratchpad>\n42",
    "Reflection": "<thinking>h</thinking><reflection>m</reflection><output>42</output>",
    "a prompt, thought process": "<thought_process>hm</thought_process>42",
    "Dify": '<details style="color:gray;" open> <summary> Thinking... </summary>hm</details>\n42',
    "Open WebUI, copied": "<details>\n<summary>Thought for 3 seconds</summary>hm</details>\n42",
    "[THINKING]": "[THINKING]hm[/THINKING]42",
    "budget tokens inside": "<think>`</think>`hm</think>42",
}
OTHERS = [
    ("", "", ""),
    ("  blue ", "", "  blue "),
    ("\n <think>\nso\n</think>\n\n blue \n", "\nso\n", "blue \n"),
    ("<think></think>blue", "", "blue"),
    ("</think>blue", "", "blue"),
    ("<think>so, and so", "so, and so", ""),
    ("<|channel|>analysis<|message|>so", "so", ""),
    ("<|channel|>commentary to=python code<|message|>so<|call|>", "so", ""),
    (
        "<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}<|call|>",
        "",
        "to=functions.f<|message|>{}",
    ),
    ("<think>a < b </thin> c</think>blue", "a < b </thin> c", "blue"),
    ("<think>so</thi", "so</thi", ""),
    ("<thin", "", "<thin"),
    ("<think>a<think>b</think>c</think>blue", "abc", "blue"),
    ("One. <think>a<think>b</think>c</think> Two.", "abc", "One. Two."),
    (" " * 100 + "<think>so</think>", "so", ""),
    (" " * 100, "", " " * 100),
    *(
        (text, "", text)
        for text in (
            "Write `<think>draft</think>`, or ``</think>``.",
            "```xml\n<think>draft</think>\n```",
            "1. ~~~\n   </think>\n   ~~~\n",
            "> quoted\n\nblue",
            "<answer>42</answer>",
            "<details><summary>More</summary>blue</details>",
            "<details>\n<summary>Why a thoughtful reader asks</summary>\nblue</details>",
            "<details>" + "blue " * 90,
            "/think",
            "#### Thinking\nblue",
            "The list [reasoning] and <|begin_of_text|> are text.",
            "A message ends with <|end|>.",
            "Well. Here is my thought process: blue",
        )
    ),
]


PARTS = [
    *"<think> </think> [/THINK] <|channel|> final<|message|> <answer> </answer> < > / a ` ``` ~~~".split(),
    *(" ", "\n", "Thinking...\n"),
]


def _apart(pieces: list[TextPiece]) -> tuple[str, str]:
    """Thoughts and answer of a stream."""
    thoughts = answer = ""
    for kind, text, at in pieces:
        if kind == "recalled":
            thoughts, answer = thoughts + answer[len(answer) - at :], answer[: len(answer) - at]
        thoughts += text if kind == "thought" else ""
        answer += text if kind == "answer" else ""
    return thoughts, answer


def _streamed(*texts: str) -> tuple[str, str]:
    reader = ThoughtReader()
    return _apart([*(piece for text in texts for piece in reader.feed(text)), *reader.end()])


@pytest.mark.parametrize("source", MARKS)
def test_thoughts_are_no_answer_and_their_drafts_no_plan(source: str) -> None:
    text = MARKS[source]
    thoughts, answer = _streamed(text)
    assert (thoughts.replace("`</think>`", ""), answer) == ("hm", "42")
    assert _apart(read_thoughts(text)) == _streamed(*text) == (thoughts, answer)
    lists = '\nmodel_id = [0]\nsubtasks = ["Guess."]\naccess_list = [[]]\n'
    assert not parse(text.replace("hm", f"hm{lists}", 1).replace("42", "No."), workers=["w"]).candidates


@pytest.mark.parametrize(("text", "thoughts", "answer"), OTHERS)
def test_other_texts_stay_as_they_are(text: str, thoughts: str, answer: str) -> None:
    assert _streamed(text) == _streamed(*text) == _apart(read_thoughts(text)) == (thoughts, answer)


@given(
    text=st.lists(
        st.sampled_from(PARTS),
        max_size=9,
    ),
    cut=st.integers(0, 40),
)
def test_where_the_stream_is_cut_changes_nothing(text: list[str], cut: int) -> None:
    whole = "".join(text)
    assert _streamed(whole) == _streamed(whole[:cut], whole[cut:]) == _streamed(*whole)
    assert all(whole[piece.at :].startswith(piece.text) for piece in read_thoughts(whole))


def test_an_answer_is_handed_on_at_once() -> None:
    reader = ThoughtReader()
    assert reader.feed("<t") == []
    assert reader.feed("o") == [TextPiece("answer", "<to", 0)]
