"""Reductions, along axes and over windows."""
