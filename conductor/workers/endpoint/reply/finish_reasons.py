"""Why an answer ended, in the words of servers. A table.

By the formats of OpenAI, Azure, Anthropic, Bedrock, Gemini, Mistral, Cohere, Together, TGI, vLLM, SGLang,
LMDeploy, TensorRT-LLM, Ollama, DeepSeek, Zhipu and OpenRouter.
"""

from __future__ import annotations

from typing import Literal

from conductor.values.messages import FinishReason

_REASONS: dict[FinishReason | Literal["failed"], str] = {
    "stop": "stop eos eos_token stop_sequence stop_token end_turn end complete completed finished finish "
    "done normal",
    "length": "length max_tokens max_output_tokens max_completion_tokens max_new_tokens token_limit "
    "model_length max_length context_length_exceeded model_context_window_exceeded",
    "refused": "content_filter content_filtered guardrail_intervened sensitive safety prohibited_content "
    "blocklist recitation spii image_safety refusal error_toxic",
    "failed": "error failed abort aborted cancelled canceled timeout time_limit network_error server_error "
    "internal_error insufficient_system_resource malformed_function_call",
}
_BY_NAME = {name: reason for reason, names in _REASONS.items() for name in names.split()}


def reason_of(finish: str | None) -> FinishReason | Literal["failed"]:
    """What a server's word for the end means; `failed` where what came before may be cut off."""
    name = (finish or "").lower().replace("-", "_").removeprefix("finish_reason_")
    return _BY_NAME.get(name, "other")
