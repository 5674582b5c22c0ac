"""GRPO of a large Conductor with TRL's trainer, on one GPU or several, completions sampled by vLLM.

Knows TRL, transformers and PEFT; what a completion is worth is `TrlRollouts`'. It is imported where training
begins, since it imports torch.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accelerate.utils import gather_object
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoTokenizer, PrinterCallback
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils.logging import disable_progress_bar
from trl import GRPOConfig, GRPOTrainer

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.learning.gauges import Stopped
from conductor.learning.grpo.draws import Draw, draws, split
from conductor.learning.grpo.model_card import CARD, model_card
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.trainer.gpu import check_gpu
from conductor.learning.grpo.trainer.training import Remark, Training
from conductor.learning.grpo.trainer.trl_log import TrainingLog
from conductor.learning.grpo.trainer.trl_rollouts import TrlRollouts, chat_of, completion_prompt
from conductor.learning.reward import Judge
from conductor.text.formatting import quantity

CONDUCTOR = "conductor"
"""The folder, in a run's, of the trained model."""

_REASONS = 512
"""Tokens for the reasons why a first plan is not valid, which a second round is shown."""

_CORRECTION: Mapping[str, Any] = {
    "vllm_importance_sampling_correction": True,
    "vllm_importance_sampling_mode": "sequence_mask",
    "vllm_importance_sampling_clip_max": 3.0,
}
"""Left out of the loss is a completion over three times as probable to the trained weights as it was to vLLM,
whose numbers differ. The research code's TRL (0.19.1) corrected nothing."""


def train(training: Training, *, resume: bool, remark: Remark) -> Path | Stopped:
    """Train, and write the Conductor's folder, which is returned: a model as transformers and vLLM load it.

    With `resume` it goes on from the run's last checkpoint. Where a collapse stops it, or an error or an
    interrupt ends it early, the steps that were taken are in a checkpoint, and no such folder is written.
    Raises `DataError` where no question fits into the prompt, `ConductorError` where the memory is too small,
    `WorkerError` where most workflows of a step fail, and what the `judge` raises.
    """
    # What these libraries announce of their next version, and bars for files that load in a second.
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    disable_progress_bar()
    recipe, folder = training.recipe, training.folder
    tokenizer = AutoTokenizer.from_pretrained(recipe.model, padding_side="left")
    items, longest = _fitting(training, tokenizer, remark)
    if not training.cpu:
        check_gpu(recipe, longest=longest)
    learnt, held_out = split(recipe, items)
    in_order = draws(recipe, learnt, training.cards)
    exam = [Draw(item, tuple(training.cards)) for item in held_out]
    judge = training.judge or Judge(
        training.pool, fresh=recipe.fresh, max_steps=recipe.max_steps, allow_code=training.allow_code
    )
    rollouts = TrlRollouts(recipe, in_order, judge, tokenizer, held_out=exam, gather=gather_object)
    log = TrainingLog(training, learnt, remark)
    trainer = ConductorTrainer(
        model=recipe.model,
        reward_funcs=rollouts.workflow_reward,
        rollout_func=rollouts.two_rounds if recipe.rounds == 2 else None,
        args=trainer_config(training, evaluated=bool(exam), resume=resume),
        train_dataset=_rows(in_order, recipe, tokenizer),
        eval_dataset=_rows(exam, recipe, tokenizer) if exam else None,
        processing_class=tokenizer,
        peft_config=None if recipe.lora is None else adapter(recipe.lora),
        callbacks=[log],
    )
    trainer.rollouts, trainer.training = rollouts, training
    trainer.remove_callback(PrinterCallback)
    try:
        trainer.train(resume_from_checkpoint=get_last_checkpoint(str(folder)) if resume else None)
    except BaseException:
        keep_steps(trainer, folder, remark)
        raise
    finally:
        rollouts.close()
    if log.stopped is not None:
        return log.stopped
    write_model(trainer, recipe, folder / CONDUCTOR)
    if trainer.accelerator.is_main_process:
        saved = judge.steps - judge.calls
        shared = f"; sharing outputs saved {quantity(saved, 'call')}" if saved else ""
        remark(f"{quantity(judge.calls, 'call')} of workers were made{shared}")
    return folder / CONDUCTOR


class ConductorTrainer(GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer, which evaluates held-out questions by running their workflows, and writes our card."""

    rollouts: TrlRollouts
    training: Training
    control: Any

    def evaluate(self, *_: object, **__: object) -> dict[str, float]:
        """See `Trainer.evaluate`. What the Conductor is worth follows from the answers, not from a loss."""
        self.model.eval()
        try:
            measured = self.rollouts.evaluate(self)
            self.log(measured)
        finally:
            self.model.train()
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, measured)
        return measured

    def create_model_card(self, *_: object, **__: object) -> None:
        """See `Trainer.create_model_card`, which is called before each checkpoint."""
        self.write_card(self.training.folder)

    def write_card(self, folder: Path) -> None:
        """Write the card of what was trained so far."""
        training = self.training
        if not self.accelerator.is_main_process:
            return
        text = model_card(
            training.recipe,
            data=training.data,
            questions=len(training.items),
            workers=[card.name for card in training.cards],
            steps=self.state.global_step,
            measured=[line for line in self.state.log_history if "eval_failed" in line],
        )
        (folder / CARD).write_text(text, encoding="utf-8")


def trainer_config(training: Training, *, evaluated: bool = False, resume: bool = False) -> GRPOConfig:
    """The recipe as TRL's settings. Raises `DataError` where the GPUs do not divide a step's completions."""
    recipe, folder, cpu = training.recipe, training.folder, training.cpu
    processes = int(os.environ.get("WORLD_SIZE", "1"))
    rest = recipe.batch % (recipe.per_device * processes)
    if rest or (recipe.rounds == 2 and recipe.questions % processes):
        raise DataError(
            f"{processes} processes cannot share {recipe.questions} questions of {recipe.rollouts} rollouts, "
            f"{recipe.per_device} at a time; change --questions, --rollouts or --per-device."
        )
    sampled: Mapping[str, Any] = {"use_vllm": False} if cpu else {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": recipe.gpu_memory,
        "vllm_enable_sleep_mode": recipe.sleep,
        "vllm_max_model_length": recipe.prompt_tokens + recipe.rounds * recipe.completion_tokens + _REASONS,
    }  # fmt: skip
    # An adapter's base is not trained, so half the bytes will do; weights that are trained by steps as small
    # as these need all of theirs.
    evaluations: Mapping[str, Any] = {"eval_strategy": "no"} if not evaluated else {
        "eval_strategy": "steps",
        "eval_steps": recipe.evaluate_every,
        "eval_on_start": not resume,
        "num_generations_eval": 1,
    }  # fmt: skip
    loaded = {"dtype": "bfloat16" if recipe.lora is not None and not cpu else "float32"}
    return GRPOConfig(
        output_dir=str(folder),
        model_init_kwargs=loaded,
        loss_type="bnpo",
        scale_rewards="group",
        num_iterations=1,
        beta=recipe.beta,
        epsilon=recipe.epsilon,
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=recipe.warm_up,  # below 1: the share of all steps
        max_steps=recipe.steps,
        num_generations=recipe.rollouts,
        per_device_train_batch_size=recipe.per_device,
        gradient_accumulation_steps=recipe.batch // (recipe.per_device * processes),
        temperature=recipe.temperature,
        max_completion_length=recipe.completion_tokens,
        shuffle_dataset=False,
        bf16=not cpu,
        use_cpu=cpu,
        gradient_checkpointing=True,
        logging_steps=1,
        report_to=[] if training.report_to is None else [training.report_to],
        run_name=folder.name,
        disable_tqdm=True,
        save_strategy="steps",
        save_steps=recipe.save_every,
        save_total_limit=2,
        seed=recipe.seed,
        **sampled,
        **_CORRECTION,
        **evaluations,
    )


def _rows(in_order: Sequence[Draw], recipe: GrpoRecipe, tokenizer: Any) -> Dataset:
    return Dataset.from_list(
        [
            {"prompt": completion_prompt(tokenizer, chat_of(draw.request(recipe), recipe)), "draw": at}
            for at, draw in enumerate(in_order)
        ]
    )


def _fitting(training: Training, tokenizer: Any, remark: Remark) -> tuple[list[Item], int]:
    """The items whose prompt, with the whole pool, is short enough, and the most tokens of one."""
    recipe = training.recipe
    lengths = [
        len(_prompt_ids(tokenizer, Draw(item, tuple(training.cards)), recipe)) for item in training.items
    ]
    fitting = [
        item for item, length in zip(training.items, lengths, strict=True) if length <= recipe.prompt_tokens
    ]
    left_out = len(training.items) - len(fitting)
    if not fitting:
        raise DataError(
            f"No question fits into a prompt of {recipe.prompt_tokens:,} tokens; raise --prompt-tokens."
        )
    if left_out:
        remark(f"{quantity(left_out, 'question')} left out: longer than {recipe.prompt_tokens:,} tokens")
    return fitting, max(length for length in lengths if length <= recipe.prompt_tokens)


def _prompt_ids(tokenizer: Any, draw: Draw, recipe: GrpoRecipe) -> Sequence[int]:
    text = completion_prompt(tokenizer, chat_of(draw.request(recipe), recipe))
    ids: Sequence[int] = tokenizer(text=text)["input_ids"]
    return ids


def adapter(rank: int) -> LoraConfig:
    """What of the model is trained with an adapter of that rank."""
    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def keep_steps(trainer: Any, folder: Path, remark: Remark) -> None:
    """Save the steps that were taken, where no checkpoint has them yet."""
    step = trainer.state.global_step
    if step and not (folder / f"checkpoint-{step}").exists():
        trainer._save_checkpoint(trainer.model, trial=None)
    if step and trainer.accelerator.is_main_process:
        remark(f"{quantity(step, 'step')} kept in {folder / f'checkpoint-{step}'}")


def write_model(trainer: Any, recipe: GrpoRecipe, folder: Path) -> None:
    """Write the model with its tokenizer; an adapter is merged into its base, as vLLM serves one model."""
    if recipe.lora is None:
        trainer.save_model(str(folder))
    elif trainer.accelerator.is_main_process:
        merged = trainer.accelerator.unwrap_model(trainer.model).merge_and_unload()
        merged.save_pretrained(str(folder))
        trainer.processing_class.save_pretrained(str(folder))
    trainer.write_card(folder)
