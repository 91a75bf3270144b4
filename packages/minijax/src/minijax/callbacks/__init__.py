"""Python functions called from compiled programs."""
