"""Planners that learnt on a pool's own questions: their file, the plan that is nearest, the Conductor."""
