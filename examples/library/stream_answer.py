"""Each event as it happens: of a step that writes its text, of all others their names."""

from conductor import events, stream

for event in stream("What is the capital of France?"):
    print(event.text if isinstance(event, events.StepDelta) else f"\n{event.type}\n", end="", flush=True)
