"""Random programs of public functions, computed by glassjax and by JAX, and compared."""
