"""From a query to a workflow: call a Conductor, read what it writes, write plans as text."""
