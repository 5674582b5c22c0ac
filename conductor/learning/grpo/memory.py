"""Computes the memory that a training takes of a GPU, and of the machine for states that lie there. Pure.

A lower bound: what it refuses cannot run. Knows the recipe and sizes; knows no GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from conductor.errors import ConductorError
from conductor.learning.grpo.recipe import GrpoRecipe

GB = 1e9

_LIVE = 1_000_000_000
"""Parameters that ZeRO-3 gathers at a time: `stage3_max_live_parameters` of DeepSpeed."""

_TILE = 32_768
"""Logits of a token that exist at a time: `_CHUNKED_LOGPROB_CHUNK_SIZE` of TRL 1.16's `trainer/utils.py`."""

_LORA_RANK = 16
"""What is proposed where all weights do not fit."""


@dataclass(frozen=True)
class ModelSize:
    """Counts of a model: parameters, those of its linear layers' widths (`widths`: the sum of inputs and
    outputs, from which an adapter follows), layers, and widths. `kv` is the bytes of keys and values a token.
    """

    parameters: int
    widths: int
    layers: int
    hidden: int
    intermediate: int
    vocabulary: int
    kv: int


@dataclass(frozen=True)
class Machine:
    """Bytes of each GPU and of the host, and the processes with a GPU each. `zero3`: DeepSpeed divides the
    states among them; `offload`: they are in the host's memory.
    """

    gpu: int
    host: int
    processes: int = 1
    zero3: bool = False
    offload: bool = False


@dataclass(frozen=True)
class MemoryPart:
    """Bytes for something; `how` is their arithmetic, for people."""

    what: str
    bytes: float
    how: str

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.what} {self.bytes / GB:.1f} ({self.how})"


def check_memory(recipe: GrpoRecipe, size: ModelSize, machine: Machine, *, longest: int) -> None:
    """Raises `ConductorError` with the arithmetic where the training cannot fit, and with what would.

    `longest` is the most tokens of a prompt.
    """
    reason = _excess(recipe, size, machine, longest)
    if reason is None:
        return
    cures = [
        name
        for name, changed, place in _changes(recipe, machine)
        if _excess(changed, size, place, longest) is None
    ]
    cure = f"It would fit with {', or '.join(cures)}." if cures else "Take a smaller model (--model)."
    raise ConductorError(f"{reason} Nothing was called. {cure}")


def gpu_parts(recipe: GrpoRecipe, size: ModelSize, machine: Machine, *, longest: int) -> list[MemoryPart]:
    """What a GPU holds at its peak, while weights are learnt."""
    length = longest + recipe.rounds * recipe.completion_tokens
    tokens, wide = recipe.per_device * length, 4 if recipe.lora is None else 2
    activations = size.layers * size.hidden * wide
    layer = 3 * size.intermediate * 2
    scored = recipe.per_device * recipe.completion_tokens
    tile = min(_TILE, size.vocabulary)
    return [
        *_states(recipe, size, machine),
        *([] if recipe.sleep else [_sampler(recipe, machine)]),
        MemoryPart("activations", tokens * (activations + layer), f"{recipe.per_device} x {length:,} tokens"),
        MemoryPart("logits", scored * tile * 4, f"{scored:,} tokens x {tile:,} x 4 B"),
    ]


def _excess(recipe: GrpoRecipe, size: ModelSize, machine: Machine, longest: int) -> str | None:
    """Why it cannot fit, None if it may."""
    share = recipe.gpu_memory * machine.gpu
    length = longest + recipe.rounds * recipe.completion_tokens
    least = [
        MemoryPart("weights", 2 * size.parameters, f"{size.parameters / GB:.2f} bn x 2 B"),
        MemoryPart("keys and values", length * size.kv, f"of one completion of {length:,} tokens"),
    ]
    if _sum(least) > share:
        return _too_much(f"vLLM's share of a GPU (--gpu-memory {recipe.gpu_memory:g})", share, least)
    host = _host_part(recipe, size, machine)
    if host is not None and host.bytes > machine.host:
        return _too_much("the machine's memory", machine.host, [host])
    peaks = [gpu_parts(recipe, size, machine, longest=longest)]
    if recipe.sleep:
        # While vLLM is awake, no gradient and no activation exists.
        states = [part for part in _states(recipe, size, machine) if part.what != "gradients"]
        peaks.append([*states, _sampler(recipe, machine)])
    highest = max(peaks, key=_sum)
    return _too_much("a GPU", machine.gpu, highest) if _sum(highest) > machine.gpu else None


def _states(recipe: GrpoRecipe, size: ModelSize, machine: Machine) -> list[MemoryPart]:
    """Weights, gradients and what Adam remembers, as far as a GPU holds them."""
    count = size.parameters
    billions = f"{count / GB:.2f} bn"
    if recipe.lora is not None:
        adapter = recipe.lora * size.widths
        return [
            MemoryPart("weights", 2 * count, f"{billions} x 2 B"),
            MemoryPart("adapter", 16 * adapter, f"{adapter / 1e6:.0f} million x 16 B"),
        ]
    if machine.offload:
        live = min(count, _LIVE)
        return [MemoryPart("weights in use", 2 * live, f"{live / GB:.2f} bn x 2 B, the others are offloaded")]
    parts = machine.processes if machine.zero3 else 1
    divided = f", over {parts} GPUs" if parts > 1 else ""
    sizes: Mapping[str, int] = {"weights": 4, "gradients": 4, "Adam": 8}
    return [
        MemoryPart(what, each * count / parts, f"{billions} x {each} B{divided}")
        for what, each in sizes.items()
    ]


def _host_part(recipe: GrpoRecipe, size: ModelSize, machine: Machine) -> MemoryPart | None:
    """What ZeRO-3 has in the host's memory: fp32 weights, gradients, and what Adam remembers."""
    if not machine.offload or recipe.lora is not None:
        return None
    return MemoryPart("offloaded states", 16 * size.parameters, f"{size.parameters / GB:.2f} bn x 16 B")


def _sampler(recipe: GrpoRecipe, machine: Machine) -> MemoryPart:
    return MemoryPart("vLLM", recipe.gpu_memory * machine.gpu, f"{recipe.gpu_memory:g} of the GPU")


def _changes(recipe: GrpoRecipe, machine: Machine) -> Iterator[tuple[str, GrpoRecipe, Machine]]:
    """What may be changed, from the least on."""

    def with_(**changed: Any) -> GrpoRecipe:
        return recipe.model_copy(update=changed)

    yield "--gpu-memory 0.3", with_(gpu_memory=0.3), machine
    yield "--sleep", with_(sleep=True), machine
    yield "--per-device 1 --sleep", with_(per_device=1, sleep=True), machine
    offloaded = replace(machine, zero3=True, offload=True)
    yield "ZeRO-3 with CPU offload (docs/grpo.md)", recipe, offloaded
    yield f"--lora {_LORA_RANK}", with_(lora=_LORA_RANK), machine
    yield (
        f"--lora {_LORA_RANK} --per-device 1 --sleep",
        with_(lora=_LORA_RANK, per_device=1, sleep=True),
        machine,
    )


def _too_much(what: str, there: float, parts: list[MemoryPart]) -> str:
    words = " + ".join(part.words for part in parts)
    return (
        f"This training does not fit into {what}: {there / GB:.1f} GB are there, and it takes "
        f"{_sum(parts) / GB:.1f} GB at least = {words}."
    )


def _sum(parts: list[MemoryPart]) -> float:
    return sum(part.bytes for part in parts)
