"""Trainings of small Conductors beside the app: their folders as values, and the processes that train."""
