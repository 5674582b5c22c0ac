"""Running a workflow on a pool: what a step is asked, what must run, and the run itself."""
