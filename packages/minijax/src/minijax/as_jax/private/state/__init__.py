"""References to arrays."""
