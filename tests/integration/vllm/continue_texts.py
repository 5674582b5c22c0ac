"""Has vLLM continue texts with the model in a folder. A script for the environment that has vLLM.

Reads a JSON list of texts from the file that is named, and writes another one of how they go on.
"""

import json
import sys
from pathlib import Path

from vllm import LLM, SamplingParams


def main(folder: str, texts: Path, found: Path) -> None:
    """The likeliest continuations, up to the model's own end."""
    model = LLM(model=folder, dtype="float32", enforce_eager=True, max_model_len=256)
    answers = model.generate(
        json.loads(texts.read_text(encoding="utf-8")), SamplingParams(temperature=0.0, max_tokens=160)
    )
    found.write_text(json.dumps([answer.outputs[0].text for answer in answers]), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
