"""What runs produce: tidy tables, their summary, and the directory they are kept in."""
