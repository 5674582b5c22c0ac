"""Which open store owns which run, and what becomes of the runs of a process that died."""
