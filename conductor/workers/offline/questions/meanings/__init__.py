"""What the rules of the grammar mean, a file a topic: a rule is a function, or stands in `RULES`.

A meaning that does not hold raises `NotUnderstood`: units that do not fit, a day that no calendar has.
"""
