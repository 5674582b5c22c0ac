"""A function is a worker, and one step of a workflow runs by it."""

from conductor import FunctionWorker, Pool, Request, Step, Workflow, run


def count(request: Request) -> str:
    return f"{len(request.query.split())} words"


workflow = Workflow.of([Step(instruction="Count the words.", worker="count")])
print(run(workflow, "How long is this?", pool=Pool(workers=(FunctionWorker(count),))).answer)
