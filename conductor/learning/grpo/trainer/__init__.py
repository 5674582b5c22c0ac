"""The trainer of GRPO: TRL's on a GPU, with rollouts on the workers, and its log."""
