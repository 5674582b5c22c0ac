"""Learners of baselines: vectors, descent, and the methods. Loaded where one is used: it brings numpy."""
