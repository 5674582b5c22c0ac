"""A made-up copy of the research code: the same files, functions and slots, in words of its own."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "custom_data/routing_question_formats.py": """
ROUTING_QUESTION_FORMAT_V1_7c2_2 = (
"Plan up to {max_number_or_routing_steps} hops. "
"EXAMPLE 1: \\\\[ \\\\lim_{{t\\\\to 0}} \\\\]\\n"
"Q: {user_question}|\\n"
"M:\\n{available_models}"
)
ROUTING_QUESTION_FORMAT_V1_7c2_2_ood = (
"Other {max_number_or_routing_steps}: {user_question}, {available_models}"
)
""",
    "custom_data/dataset_utils.py": """
def format_models_list(available_models, hide_names=True, hide_parameters=True):
    lines = []
    for i, model in enumerate(available_models):
        if hide_names and not hide_parameters:
            size = len(model)
            available_model_str = f"Engine {i} of size {size}"
        elif hide_names:
            available_model_str = f"Engine {i}"
        else:
            available_model_str = f"Engine {i} is {model}"
        lines.append(available_model_str)
    return "\\n".join(lines)
""",
    "custom_data/dataset.py": """
def messages(conductor_prompt):
    system_msg = 'You direct. {Really}.'
    return [
        {"role": "system", "content": system_msg},
        {"role": "user", "content": conductor_prompt},
        {"role": 'assistant', "content": "First I part it. "},
    ]
""",
    "custom_data/recursion_formats.py": """
SIMPLE_recursion_FORMAT_V0 = (
"It ended with: {worker_response}\\n"
"Again, up to {max_number_of_routing_steps}."
)
SIMPLE_recursion_FORMAT_V1 = "Unused {worker_response} {max_number_of_routing_steps}"
""",
    "trainers/conductor_engine.py": """
class Reward:
    def other(self):
        user_content = f"Elsewhere: {self}"
        assistant_prompt = "Elsewhere."

    def _prepare_agent_messages(self, subtask, history, prev, think_tags=False, **kwargs):
        user_content = kwargs["base_question"]
        if self.include_overall_task:
            user_content = (f"Do a part. "
            f"The whole: <whole> {user_content} </whole> {{end}}\\n")
        if self.recursion_round_id > 0:
            user_content += ("Tried before. "
            "See:\\n")
            for subtask, model_id, response in prev:
                user_content += (
                f"<Old part of Unit {model_id}>{subtask}</Old part of Unit {model_id}>"
                f"<Old Unit {model_id} reply>{response}</Old Unit {model_id} reply>\\n"
                )
        for prev_subtask, model_id, agent_output in history:
            if agent_output:
                user_content += (
                f"<Part of Unit {model_id}>{prev_subtask}</Part of Unit {model_id}>"
                f"<Unit {model_id} reply>{agent_output}</Unit {model_id} reply>\\n"
                )
        user_content += f"Yours: {subtask}"
        if self.final_agent_knowledge:
            final_agent_knowledge = f"You are the last. "
            user_content += final_agent_knowledge
        assistant_prompt = "I begin."
        if think_tags:
            assistant_prompt += "<think>"
        return [
            {"role": "user", "content": user_content},
            {"role": "assistant", "content": assistant_prompt},
        ]
""",
}


def write_copy(folder: Path) -> Path:
    """Write the copy below `folder/orchestrator`; the folder of the repository."""
    root = folder / "orchestrator"
    for name, text in FILES.items():
        path = root / "conductor" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip(), encoding="utf-8")
    return root
