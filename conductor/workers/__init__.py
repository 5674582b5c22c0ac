"""Who answers: the protocol every worker speaks, the built-in experts, the shipped fake, the pool."""
