"""The reasons for the end of an answer, in the words of servers. A table.

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
    "model_length max_length context_length_exceeded model_context_window_exceeded error_limit",
    "refused": "content_filter content_filtered guardrail_intervened sensitive safety prohibited_content "
    "blocklist recitation spii image_safety refusal error_toxic language model_armor blocked moderation "
    "content_policy_violation",
    "failed": "error failed abort aborted cancelled canceled timeout time_limit network_error server_error "
    "internal_error insufficient_system_resource malformed_function_call malformed_response "
    "malformed_model_output malformed_tool_use unexpected_tool_call too_many_tool_calls "
    "missing_thought_signature user_cancel overloaded engine_overloaded unavailable interrupted incomplete",
}
_BY_NAME = {name: reason for reason, names in _REASONS.items() for name in names.split()}


def reason_of(finish: str | None) -> FinishReason | Literal["failed"]:
    """What a server's word for the end means; `failed` where what came before may be cut off."""
    name = (finish or "").lower().replace("-", "_").removeprefix("finish_reason_")
    general, _, own = name.partition(":")  # Gemini: "content_filter: SAFETY"
    return next((_BY_NAME[each] for each in (own.strip(), general) if each in _BY_NAME), "other")
