"""Sparse Jacobians and Hessians: a pattern by analysis, a coloring, and compressed products."""
