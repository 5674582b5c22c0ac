"""The end of a run: its answer, or why there is none; keeping the question as a test."""
