"""Nets: what no table of tests would think of, tried in processes that may die or hang."""
