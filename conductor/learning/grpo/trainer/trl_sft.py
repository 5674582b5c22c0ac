"""The supervised start of a large Conductor with TRL's trainer: an adapter, merged into the model at the end.

Knows TRL, transformers and PEFT; which plans are learnt is `supervised`'s. It is imported where training
begins, since it imports torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from transformers import AutoTokenizer, PrinterCallback
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils.logging import disable_progress_bar
from trl import SFTConfig, SFTTrainer

from conductor.errors import DataError
from conductor.learning.grpo.model_card import CARD, model_card
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.supervised import BATCH, PlanLesson
from conductor.learning.grpo.trainer.training import Remark
from conductor.learning.grpo.trainer.trl_grpo import CONDUCTOR, adapter, keep_steps, write_model
from conductor.learning.grpo.trainer.trl_rollouts import chat_of, completion_prompt
from conductor.text.formatting import quantity


class SupervisedTrainer(SFTTrainer):  # type: ignore[misc]
    """TRL's trainer, which writes our card in place of its own."""

    card = ""

    def create_model_card(self, *_: object, **__: object) -> None:
        """See `Trainer.create_model_card`, which is called before each checkpoint."""

    def write_card(self, folder: Path) -> None:
        """Write the card of what was trained."""
        (folder / CARD).write_text(self.card, encoding="utf-8")


def teach(
    recipe: GrpoRecipe,
    lessons: Sequence[PlanLesson],
    folder: Path,
    *,
    data: str,
    cpu: bool,
    resume: bool,
    remark: Remark,
) -> Path:
    """Learn the plans, and write the Conductor's folder, which is returned; `data` is what they are of.

    With `resume` it goes on from the run's last checkpoint; an interrupt leaves one. Raises `DataError` where
    no plan fits into the recipe's lengths.
    """
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(recipe.model)
    rows = _rows(recipe, lessons, tokenizer)
    if not rows:
        raise DataError(
            f"No plan fits into a prompt of {recipe.prompt_tokens:,} tokens and a completion of "
            f"{recipe.completion_tokens:,}."
        )
    if len(rows) < len(lessons):
        remark(f"{quantity(len(lessons) - len(rows), 'plan')} left out: longer than the recipe's lengths")
    trainer = SupervisedTrainer(
        model=recipe.model,
        args=_config(recipe, folder, cpu=cpu),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=adapter(recipe.lora or 0),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.card = model_card(
        recipe,
        data=data,
        questions=len(rows),
        workers=[card.name for card in lessons[0].request.workers],
        steps=recipe.steps,
        is_supervised=True,
    )
    try:
        ended = trainer.train(resume_from_checkpoint=get_last_checkpoint(str(folder)) if resume else None)
    except BaseException:
        keep_steps(trainer, folder, remark)
        raise
    write_model(trainer, recipe, folder / CONDUCTOR)
    steps, loss = quantity(recipe.steps, "step"), ended.training_loss
    remark(f"{quantity(len(rows), 'plan')} learnt in {steps}; mean loss {loss:.3f}")
    return folder / CONDUCTOR


def _rows(recipe: GrpoRecipe, lessons: Sequence[PlanLesson], tokenizer: Any) -> list[dict[str, list[int]]]:
    """The tokens of each prompt, as completions are sampled for it, and of its plan, which is learnt."""
    rows = []
    for lesson in lessons:
        prompt = tokenizer(text=completion_prompt(tokenizer, chat_of(lesson.request, recipe)))["input_ids"]
        plan = tokenizer(text=lesson.plan, add_special_tokens=False)["input_ids"] + [tokenizer.eos_token_id]
        if len(prompt) <= recipe.prompt_tokens and len(plan) <= recipe.completion_tokens:
            mask = [0] * len(prompt) + [1] * len(plan)
            rows.append({"input_ids": prompt + plan, "completion_mask": mask})
    return rows


def _config(recipe: GrpoRecipe, folder: Path, *, cpu: bool) -> SFTConfig:
    return SFTConfig(
        output_dir=str(folder),
        model_init_kwargs={"dtype": "float32" if cpu else "bfloat16"},
        completion_only_loss=True,
        max_length=None,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=recipe.warm_up,  # below 1: the share of all steps
        max_steps=recipe.steps,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=BATCH,
        bf16=not cpu,
        use_cpu=cpu,
        gradient_checkpointing=True,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        save_strategy="steps",
        save_steps=recipe.save_every,
        save_total_limit=2,
        seed=recipe.seed,
    )
