"""GRPO of a large Conductor with TRL's trainer, on one GPU or several, completions sampled by vLLM.

Knows TRL, transformers and PEFT; what a completion is worth is `TrlRollouts`'. It is imported where training
begins, since it imports torch. The reward is a coroutine, so all workflows of a step run side by side.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datasets import Dataset
from peft import LoraConfig
from transformers import AutoTokenizer, PrinterCallback, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils.logging import disable_progress_bar
from trl import GRPOConfig, GRPOTrainer

from conductor.errors import DataError
from conductor.evaluation.items import Item
from conductor.learning.gauges import Stopped
from conductor.learning.grpo.alarm import LogWatch, is_step
from conductor.learning.grpo.draws import Draw, draws
from conductor.learning.grpo.recipe import GrpoRecipe
from conductor.learning.grpo.trl_rollouts import TrlRollouts, chat_of
from conductor.learning.reward import Judge, WorkflowJudge
from conductor.text.formatting import counted, percent
from conductor.workers.pool.pool import Pool
from conductor.workers.protocol import WorkerCard

LOG = "log.jsonl"
"""The file of a run's metrics, a line a step."""

CONDUCTOR = "conductor"
"""The folder, in a run's, of the trained model."""

Remark = Callable[[str], None]

_REASONS = 512
"""Tokens for the reasons why a first plan is not valid, which a second round is shown."""


@dataclass(frozen=True)
class Training:
    """What is trained on what. `folder` is the run's; `cpu`: without a GPU and vLLM, for trying it out.
    `stop_on_collapse`: the training ends where its gauges give alarm. `judge` runs the workflows; where it is
    None, this process does.
    """

    recipe: GrpoRecipe
    items: Sequence[Item]
    pool: Pool
    cards: Sequence[WorkerCard]
    folder: Path
    allow_code: bool = False
    cpu: bool = False
    stop_on_collapse: bool = False
    judge: WorkflowJudge | None = None


def train(training: Training, *, resume: bool, remark: Remark) -> Path | Stopped:
    """Train, and write the Conductor's folder, which is returned: a model as transformers and vLLM load it.

    With `resume` it goes on from the run's last checkpoint. Where a collapse stops it, or an error or an
    interrupt ends it early, the steps that were taken are in a checkpoint, and no such folder is written.
    Raises `DataError` where no question fits into the prompt, `WorkerError` where most workflows of a step
    fail, and what the `judge` raises.
    """
    # What these libraries announce of their next version, and bars for files that load in a second.
    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    disable_progress_bar()
    recipe, folder = training.recipe, training.folder
    tokenizer = AutoTokenizer.from_pretrained(recipe.model, padding_side="left")
    items = _fitting(training, tokenizer, remark)
    drawn = draws(recipe, items, training.cards)
    judge = training.judge or Judge(
        training.pool, fresh=recipe.fresh, max_steps=recipe.max_steps, allow_code=training.allow_code
    )
    rollouts = TrlRollouts(recipe, drawn, judge, tokenizer)
    log = _Log(training, items, remark)
    trainer = GRPOTrainer(
        model=recipe.model,
        reward_funcs=rollouts.workflow_reward,
        rollout_func=rollouts.two_rounds if recipe.rounds == 2 else None,
        args=trainer_config(recipe, folder, cpu=training.cpu),
        train_dataset=Dataset.from_list(
            [{"prompt": chat_of(draw.request(recipe), recipe), "draw": at} for at, draw in enumerate(drawn)]
        ),
        processing_class=tokenizer,
        peft_config=None if recipe.lora is None else _adapter(recipe.lora),
        callbacks=[log],
    )
    trainer.remove_callback(PrinterCallback)
    try:
        trainer.train(resume_from_checkpoint=get_last_checkpoint(str(folder)) if resume else None)
    except BaseException:
        _keep(trainer, folder, remark)
        raise
    if log.stopped is not None:
        return log.stopped
    _write(trainer, recipe, folder / CONDUCTOR)
    if trainer.accelerator.is_main_process:
        saved = judge.steps - judge.calls
        shared = f"; sharing outputs saved {counted(saved, 'call')}" if saved else ""
        remark(f"{counted(judge.calls, 'call')} of workers were made{shared}")
    return folder / CONDUCTOR


def trainer_config(recipe: GrpoRecipe, folder: Path, *, cpu: bool) -> GRPOConfig:
    """The recipe as TRL's settings. Raises `DataError` where the GPUs do not divide a step's completions."""
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
        "vllm_max_model_length": recipe.prompt_tokens + recipe.rounds * recipe.completion_tokens + _REASONS,
    }  # fmt: skip
    # An adapter's base is not trained, so half the bytes will do; weights that are trained by steps as small
    # as these need all of theirs.
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
        lr_scheduler_type="constant",
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
        report_to=[],
        disable_tqdm=True,
        save_strategy="steps",
        save_steps=recipe.save_every,
        save_total_limit=2,
        seed=recipe.seed,
        **sampled,
    )


def _fitting(training: Training, tokenizer: Any, remark: Remark) -> list[Item]:
    """The items whose prompt, with the whole pool, is short enough."""
    recipe = training.recipe
    fitting = [
        item
        for item in training.items
        if len(_prompt_ids(tokenizer, Draw(item, tuple(training.cards)), recipe)) <= recipe.prompt_tokens
    ]
    left_out = len(training.items) - len(fitting)
    if not fitting:
        raise DataError(
            f"No question fits into a prompt of {recipe.prompt_tokens:,} tokens; raise --prompt-tokens."
        )
    if left_out:
        remark(f"{counted(left_out, 'question')} left out: longer than {recipe.prompt_tokens:,} tokens")
    return fitting


def _prompt_ids(tokenizer: Any, draw: Draw, recipe: GrpoRecipe) -> Sequence[int]:
    chat = chat_of(draw.request(recipe), recipe)
    ids: Sequence[int] = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)[
        "input_ids"
    ]
    return ids


def _adapter(rank: int) -> LoraConfig:
    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


class _Log(TrainerCallback):  # type: ignore[misc]
    """Writes each step's metrics as a line of JSON, and the gauges for who watches; warns of a collapse.

    All processes have the same metrics, so all of them stop at the same step.
    """

    def __init__(self, training: Training, items: Sequence[Item], remark: Remark) -> None:
        self.stopped: Stopped | None = None
        self._file, self._steps, self._remark = training.folder / LOG, training.recipe.steps, remark
        self._items, self._stops = items, training.stop_on_collapse
        self._watch = LogWatch(items)

    def on_train_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """See `TrainerCallback.on_train_begin`; a checkpoint has the metrics of the steps before it."""
        self._watch = LogWatch(self._items, before=state.log_history)

    def on_log(self, _args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """See `TrainerCallback.on_log`."""
        if not logs:
            return
        alarm = self._watch.read(logs) if is_step(logs) else None
        if alarm is not None and self._stops:
            self.stopped = Stopped(state.global_step, alarm)
            control.should_training_stop = control.should_save = True
        if state.is_world_process_zero:
            self._add(state.global_step, logs)
            self._show(state.global_step, logs)
            if alarm is not None:
                self._add(state.global_step, {"alarm": alarm.what, "cure": alarm.cure})
                self._remark(f"step {state.global_step}: {alarm.words}")

    def _add(self, step: int, metrics: Mapping[str, Any]) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, "at": round(time.time(), 1), **metrics}) + "\n")

    def _show(self, step: int, logs: Mapping[str, Any]) -> None:
        if is_step(logs):
            steps = f", {logs['steps']:.2f} steps a plan" if "steps" in logs else ""
            self._remark(
                f"step {step} of {self._steps}: {percent(logs['valid'])} valid, "
                f"{percent(logs['right'])} right{steps}, {logs['calls']:.0f} calls, "
                f"{logs['calls_saved']:.0f} saved"
            )


def _keep(trainer: Any, folder: Path, remark: Remark) -> None:
    """Save the steps that were taken, where no checkpoint has them yet."""
    step = trainer.state.global_step
    if step and not (folder / f"checkpoint-{step}").exists():
        trainer._save_checkpoint(trainer.model, trial=None)
    if step and trainer.accelerator.is_main_process:
        remark(f"{counted(step, 'step')} kept in {folder / f'checkpoint-{step}'}")


def _write(trainer: Any, recipe: GrpoRecipe, folder: Path) -> None:
    """Write the model with its tokenizer; an adapter is merged into its base, as vLLM serves one model."""
    if recipe.lora is None:
        trainer.save_model(str(folder))
        return
    if trainer.accelerator.is_main_process:
        merged = trainer.accelerator.unwrap_model(trainer.model).merge_and_unload()
        merged.save_pretrained(str(folder))
        trainer.processing_class.save_pretrained(str(folder))
