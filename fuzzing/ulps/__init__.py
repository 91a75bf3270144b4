"""How exact each elementwise function is, and JAX's, in units in the last place."""
