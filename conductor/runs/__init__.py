"""A run as its events, and all that is folded from them: its state, its timeline, its replay."""
