"""How an evaluation is carried out: its cells run, by this process or by others, and scored."""
