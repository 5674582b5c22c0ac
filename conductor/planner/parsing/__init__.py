"""From a Conductor's completion to the plan in it: lists in any of its dialects, with every repair named."""
