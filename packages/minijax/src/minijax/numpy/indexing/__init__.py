"""Indexing: `x[...]`, `x.at[...]`, `take` and `where`."""
