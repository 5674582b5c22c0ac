"""An answer that is read while it is streamed: its text, its reasoning, its calls, its log probabilities."""
