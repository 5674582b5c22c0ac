"""One edge is edited; only the step that it leads to runs again."""

from conductor import plan, run

workflow = plan("Compare France and Japan").workflow
first = run(workflow, "Compare France and Japan")
print(run(workflow.with_access(2, (1,)), "Compare France and Japan", after=first))
