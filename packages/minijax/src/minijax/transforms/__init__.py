"""Transformations of functions: derivatives, vectorisation, checkpoints, user-defined rules."""
