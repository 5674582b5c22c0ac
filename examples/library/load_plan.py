"""A workflow that the app exported as workflow.json, run on another question."""

from pathlib import Path

from conductor import read_plan, run

print(run(read_plan(Path("workflow.json").read_text(encoding="utf-8")).workflow, "Compare Chile and Peru"))
