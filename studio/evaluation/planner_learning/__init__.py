"""A planner learns from plans that were tried on a pool's own questions: `learn mine`."""
