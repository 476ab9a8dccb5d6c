"""One scenario on several engines, and how far they agree (docs/agree.md)."""
