"""What does it cost? Privacy loss, composition, charges and budgets."""
