"""Loops, conditionals, and solvers that hold functions."""
