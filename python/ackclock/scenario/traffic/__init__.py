"""Who sends what, and which route it takes."""
