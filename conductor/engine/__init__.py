"""Running a workflow on a pool: the steps' requests, the steps to run, and the run."""
