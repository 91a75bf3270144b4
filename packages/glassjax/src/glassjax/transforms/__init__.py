"""Transformations of functions: derivatives, vectorization, checkpoints, user-defined rules."""
