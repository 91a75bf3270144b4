"""Arrays on disk by TensorStore, under JAX's names; `glassjax.checkpoints` saves whole trees."""
