"""Pytrees: nested containers of arrays."""
