"""Shardings: how an array is divided among the devices of a mesh."""
