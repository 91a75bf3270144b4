"""Shardings of arrays over the devices of a mesh."""
