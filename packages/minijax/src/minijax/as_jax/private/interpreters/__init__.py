"""The interpreters, under the names of `jax.interpreters`."""
