"""GRPO of a large Conductor: recipe, cost, rollouts, and the trainer of TRL."""
