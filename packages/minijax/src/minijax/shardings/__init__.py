"""Shardings: how an array is sharded over the devices of a mesh."""
