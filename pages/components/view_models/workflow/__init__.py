"""One workflow as it is shown: its cards, its access grid, its differences from others. Pure."""
