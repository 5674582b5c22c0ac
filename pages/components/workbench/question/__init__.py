"""The question: the composer with its settings, and the conversation a question was part of."""
