"""Names that widely used libraries import from JAX's private modules, `jax._src`."""
