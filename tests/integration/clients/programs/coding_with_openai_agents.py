"""A task and a question after it, with the `model` of docs/agents.md."""

import os

from agents import Agent, Runner, function_tool
from block import model
from file_tools import edit_file, read_file, run

agent = Agent(name="coder", model=model, tools=[function_tool(each) for each in (read_file, edit_file, run)])
first = Runner.run_sync(agent, os.environ["TASK"])
print(first.final_output, flush=True)
items = [*first.to_input_list(), {"role": "user", "content": os.environ["FOLLOW_UP"]}]
print(Runner.run_sync(agent, items).final_output)
