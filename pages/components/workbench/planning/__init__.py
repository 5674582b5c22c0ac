"""The plan as the Conductor wrote it, other plans, and changes that were asked for in words."""
