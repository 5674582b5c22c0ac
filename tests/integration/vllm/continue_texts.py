"""Has vLLM continue texts with the model in a folder. A script for the environment that has vLLM.

Reads a JSON list from the file that is named: what is asked, each time with `texts`, a `temperature` and a
`regex` that their continuations keep to, or null. Writes a list of the lists of their continuations.
"""

import json
import sys
from pathlib import Path

from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams


def continued(model: LLM, batch: dict) -> list[str]:
    """The continuations, up to the model's own end."""
    held = StructuredOutputsParams(regex=batch["regex"]) if batch["regex"] else None
    sampling = SamplingParams(
        temperature=batch["temperature"], max_tokens=160, seed=3, structured_outputs=held
    )
    return [answer.outputs[0].text for answer in model.generate(batch["texts"], sampling)]


def main(folder: str, source: Path, target: Path) -> None:
    """All that is asked, of one model."""
    model = LLM(model=folder, dtype="float32", enforce_eager=True, max_model_len=256)
    answers = [continued(model, each) for each in json.loads(source.read_text(encoding="utf-8"))]
    target.write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
