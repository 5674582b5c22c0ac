"""The program as a server of the Model Context Protocol: agents ask, plan, run and read by its tools."""
