"""Where ours is deliberately another number than JAX's, and why: line of the table to reason."""

DIFFERENCES: dict[str, str] = {}
