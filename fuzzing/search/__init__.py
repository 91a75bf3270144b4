"""Random programs of public functions, computed by minijax and by JAX, and compared."""
