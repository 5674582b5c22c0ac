"""Values that everything else is made of: messages, outputs, conversations, budgets, presets."""
