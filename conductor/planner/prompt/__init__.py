"""What a Conductor is sent: the prompt, its examples, and the form that its answer must have."""
