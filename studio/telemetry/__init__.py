"""What the owner of a server sees of its work: metrics, logs and traces, all from the events of runs."""
