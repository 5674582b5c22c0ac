"""The end of a run: its answer, or why there is no answer; keeping the question as a test."""
