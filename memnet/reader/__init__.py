"""Reading: short answers in passages."""
