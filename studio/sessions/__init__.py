"""Activities of a session that outlive their caller: planning, runs, experiments."""
