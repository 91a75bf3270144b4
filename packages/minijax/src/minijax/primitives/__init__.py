"""Declaring primitives, and the jaxprs that higher-order primitives hold."""
