"""The views below the graph: access, history, timeline, experiments."""
