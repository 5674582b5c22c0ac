"""A task and a question after it, with the `chat` of docs/agents.md."""

import os

from block import chat
from file_tools import edit_file, read_file, run
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

tools = {each.__name__: tool(each) for each in (read_file, edit_file, run)}
bound = chat.bind_tools(list(tools.values()))
messages = []
for question in (os.environ["TASK"], os.environ["FOLLOW_UP"]):
    messages.append(HumanMessage(question))
    while True:
        answer = None
        for piece in bound.stream(messages):
            answer = piece if answer is None else answer + piece
        messages.append(answer)
        if not answer.tool_calls:
            break
        messages += [tools[call["name"]].invoke(call) for call in answer.tool_calls]
    print(answer.text, flush=True)
