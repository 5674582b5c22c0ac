"""The parser finds the plan in a Conductor's completion: lists in any dialect, with every repair named."""
