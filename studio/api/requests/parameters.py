"""The table of all parameters that no schema of a request has, and of what happens to each.

The parameters that are honoured are the fields of `ChatRequest` and `ResponsesRequest`. Together with these
rows they are all that OpenAI's references have; the other rows are what other servers add to them. A
parameter that is in no row is unknown: it has no effect either, and is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from studio.api.error_answers import unsupported

_NOTHING: tuple[object, ...] = (None, "", [], {})


class Row(NamedTuple):
    """Why a parameter is refused, or has no effect; a `neutral` value means what happens anyway."""

    reason: str
    neutral: tuple[object, ...] = ()

    def is_neutral(self, value: object) -> bool:
        return value in self.neutral


Table = Mapping[str, Row]

# -- without effect --------------------------------------------------------------------------------

_CACHES = "each worker has its own cache."
_WITHOUT_EFFECT: Table = {
    "service_tier": Row("there is one tier.", ("auto", "default")),
    "moderation": Row("nothing is moderated here, so nothing is scored."),
    "prompt_cache_retention": Row(_CACHES),
    "prompt_cache_options": Row(_CACHES),
    "stream_options.include_obfuscation": Row("nothing is added to the pieces of a stream.", (False,)),
}
CHAT_WITHOUT_EFFECT: Table = {
    **_WITHOUT_EFFECT,
    "prediction": Row("an answer is the same without it."),
    "verbosity": Row("request the length of the answer in a message.", ("medium",)),
}
RESPONSES_WITHOUT_EFFECT: Table = {
    **_WITHOUT_EFFECT,
    "max_tool_calls": Row("it bounds tools that run at a server, and none does."),
    "truncation": Row("nothing is left out of a conversation.", ("disabled",)),
    "background_options": Row("what goes on in the background begins at once."),
    "context_management": Row("nothing is left out of a conversation."),
    "access_programs": Row("there are none here."),
    "image": Row("each worker reads images in its own way."),
    "reasoning.summary": Row("the run contains the workers' reasoning; open its link."),
    "reasoning.generate_summary": Row("the run contains the workers' reasoning; open its link."),
    "reasoning.context": Row("each worker has its own way with earlier thoughts.", ("auto",)),
    "reasoning.mode": Row("give an effort.", ("standard",)),
    "text.verbosity": Row("request the length of the answer in a message.", ("medium",)),
}

# -- refused ---------------------------------------------------------------------------------------

_SAMPLING = "workers are sent temperature, top_p, seed and penalties; leave it out."
_FORM = "ask for a form by response_format (chat) or text.format (responses)."
_LENGTH = "limit the answer by max_completion_tokens (chat) or max_output_tokens (responses)."
_MESSAGES = "give it in the messages."
_SEARCH = "no worker searches the web."
_TOKENS = "each worker has its own tokens."
_STORED = "nothing of that name is stored here; give the messages themselves."

_OF_OTHER_SERVERS: Table = {
    **{name: Row(_SAMPLING, (-1, 0)) for name in ("top_k", "top_n_sigma")},
    **{
        name: Row(_SAMPLING, (0, False))
        for name in (
            *("min_p", "top_a", "mirostat", "mirostat_mode", "dynatemp_range", "smoothing_factor"),
            *("dry_multiplier", "xtc_probability", "no_repeat_ngram_size", "penalty_alpha", "epsilon_cutoff"),
            *("eta_cutoff", "use_beam_search", "watermark"),
        )
    },
    **{
        name: Row(_SAMPLING, (1, True))
        for name in (
            *("typical_p", "tfs", "tfs_z", "repetition_penalty", "repeat_penalty", "length_penalty"),
            *("best_of", "num_beams", "guidance_scale", "do_sample", "num_return_sequences"),
        )
    },
    **{
        name: Row(_SAMPLING)
        for name in ("logits_processors", "custom_logit_processor", "samplers", "sampler_order")
    },
    **{
        name: Row(_TOKENS)
        for name in ("stop_token_ids", "bad_words", "allowed_token_ids", "banned_tokens", "prompt_embeds")
    },
    **{name: Row(_TOKENS, (False,)) for name in ("ignore_eos", "ban_eos_token")},
    **{
        name: Row(_FORM)
        for name in (
            *("guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs"),
            *("structural_tag", "grammar", "json_schema", "regex", "ebnf", "format", "response_schema"),
            *("response_mime_type", "output_schema"),
        )
    },
    **{
        name: Row(_LENGTH, (-1,))
        for name in (
            *("n_predict", "num_predict", "max_new_tokens", "max_length", "max_tokens_to_sample"),
            *("max_completion_length", "truncate_prompt_tokens"),
        )
    },
    **{
        name: Row("an answer ends where its worker ends it.", (0,))
        for name in ("min_tokens", "min_new_tokens")
    },
    **{name: Row("give texts to end at as stop (chat).") for name in ("stop_sequences", "stop_regex")},
    "random_seed": Row("give it as seed (chat)."),
    "options": Row("give each option as a parameter of its own."),
    **{
        name: Row(_MESSAGES)
        for name in (
            *("system", "system_instruction", "systemInstruction", "preamble", "chat_history", "documents"),
            *("suffix", "contents"),
        )
    },
    **{name: Row("each worker has its own template.") for name in ("chat_template", "template")},
    "safe_prompt": Row("give instructions in the messages.", (False,)),
    "echo": Row("an answer does not repeat its messages.", (False,)),
    "data_sources": Row("nothing is looked up here; give the texts in the messages."),
    "plugins": Row("no plugins run here."),
    **{name: Row(_SEARCH, (False,)) for name in ("enable_search", "web_search")},
    "search_parameters": Row(_SEARCH, ({"mode": "off"},)),
    **{
        name: Row("ask for another model of the pool, as worker:NAME.")
        for name in ("lora", "lora_request", "lora_path", "adapter_id")
    },
}
_REFUSED: Table = {
    **_OF_OTHER_SERVERS,
    "conversation": Row("give previous_response_id (responses), or the messages themselves."),
    "prompt": Row(_STORED),
}
_OF_RESPONSES = "it is a parameter of /v1/responses; "
CHAT_REFUSED: Table = {
    **_REFUSED,
    "modalities": Row("an answer is text.", (["text"],)),
    "audio": Row("an answer is text."),
    "web_search_options": Row(_SEARCH),
    "logit_bias": Row(_TOKENS),
    "functions": Row("offer functions as tools."),
    "function_call": Row("offer functions as tools, and choose by tool_choice.", ("none", "auto")),
    "input": Row(f"{_OF_RESPONSES}give messages."),
    "instructions": Row(f"{_OF_RESPONSES}give a message of the role system."),
    "previous_response_id": Row(f"{_OF_RESPONSES}give the messages themselves."),
    "max_output_tokens": Row(f"{_OF_RESPONSES}give max_completion_tokens."),
    "text": Row(f"{_OF_RESPONSES}give response_format.", ({"format": {"type": "text"}},)),
    "background": Row(f"{_OF_RESPONSES}what goes on in the background is asked for there.", (False,)),
}
_OF_CHAT = "it is a parameter of /v1/chat/completions"
RESPONSES_REFUSED: Table = {
    **_REFUSED,
    "messages": Row(f"{_OF_CHAT}; give input."),
    "max_tokens": Row(f"{_OF_CHAT}; give max_output_tokens."),
    "max_completion_tokens": Row(f"{_OF_CHAT}; give max_output_tokens."),
    "response_format": Row(f"{_OF_CHAT}; give text.format.", ({"type": "text"},)),
    "logprobs": Row(f"{_OF_CHAT}; give include: message.output_text.logprobs.", (False,)),
    **{name: Row(f"{_OF_CHAT}.") for name in ("stop", "seed")},
    **{name: Row(f"{_OF_CHAT}.", (0,)) for name in ("frequency_penalty", "presence_penalty")},
    "n": Row(f"{_OF_CHAT}.", (1,)),
    **{name: CHAT_REFUSED[name] for name in ("modalities", "audio", "web_search_options", "logit_bias")},
    **{name: CHAT_REFUSED[name] for name in ("functions", "function_call")},
}
EMBEDDINGS_REFUSED: Table = {
    **{
        name: Row("each worker makes its vectors in one way; leave it out.")
        for name in (
            *("input_type", "task", "task_type", "prompt", "prompt_name", "instruction", "late_chunking"),
            *("output_dtype", "embedding_types", "embedding_type", "truncate", "truncate_prompt_tokens"),
        )
    },
    "normalize": Row("each worker makes its vectors in one way; leave it out.", (True,)),
    **{name: Row("give it as dimensions.") for name in ("output_dimension", "output_dimensionality")},
}

# -- of one request --------------------------------------------------------------------------------


def check_refused(parameters: Mapping[str, Any], refused: Table) -> None:
    """Raise `ApiError` for the first of these that cannot be honoured and is not neutral."""
    for name, value in parameters.items():
        row = refused.get(name)
        # An empty object asks for a search as well.
        asks = value not in _NOTHING or (name == "web_search_options" and value is not None)
        if row is not None and asks and not row.is_neutral(value):
            raise unsupported(name, row.reason)
    _check_moderation(parameters.get("moderation"))


def _check_moderation(moderation: object) -> None:
    policy = moderation.get("policy") if isinstance(moderation, dict) else None
    sides = policy.values() if isinstance(policy, dict) else ()
    if any(isinstance(side, dict) and side.get("mode") == "block" for side in sides):
        raise unsupported("moderation", "nothing is moderated here, so nothing is blocked.")


def unheeded(parameters: Mapping[str, Any], rows: Table) -> Iterator[str]:
    """The names of those that ask for something and change nothing; the `rows` have what is neutral."""
    for name, value in parameters.items():
        row = rows.get(name)
        if value not in _NOTHING and not (row is not None and row.is_neutral(value)):
            yield name
