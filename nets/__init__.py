"""Nets: programs that look at length for what no table of tests would think of."""
