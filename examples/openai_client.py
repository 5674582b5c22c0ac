"""The API with OpenAI's own client: the models, an answer and how it came about, and an answer as a stream.

conductor serve --api-only
export OPENAI_BASE_URL=http://127.0.0.1:8600/v1 OPENAI_API_KEY="$(cat data/api-token)"
pip install openai
python examples/openai_client.py
"""

from __future__ import annotations

import sys

from openai import OpenAI

QUESTION = "What is 17 * 23?"


def main(question: str) -> None:
    client = OpenAI()
    print("models:", ", ".join(model.id for model in client.models.list()))

    answer = client.chat.completions.create(
        model="conductor", messages=[{"role": "user", "content": question}]
    )
    print("answer:", answer.choices[0].message.content)
    # What OpenAI's API does not have is under "conductor": the session, and its page in the app.
    print("session:", (answer.model_extra or {})["conductor"]["session"])

    print("stream:", end=" ")
    for event in client.responses.create(model="conductor", input=question, stream=True):
        if event.type == "response.output_text.delta":
            print(event.delta, end="", flush=True)
    print()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else QUESTION)
