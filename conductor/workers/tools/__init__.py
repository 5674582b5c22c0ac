"""Tools: servers of the Model Context Protocol that a worker's model may call."""
