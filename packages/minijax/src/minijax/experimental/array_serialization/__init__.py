"""Arrays on disk by TensorStore, under JAX's names; `minijax.checkpoints` has whole checkpoints."""
