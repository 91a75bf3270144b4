"""Arrays of one number that keep their literal; here numbers are literals themselves."""

from minijax import Array as LiteralArray

__all__ = ["LiteralArray"]
