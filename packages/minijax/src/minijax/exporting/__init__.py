"""Exported programs: writing, reading and calling them."""
