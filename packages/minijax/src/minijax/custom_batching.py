"""Functions with custom `vmap` rules, under the names of `jax.custom_batching`."""

from minijax.lax.control_flow.sequential_vmap import sequential_vmap
from minijax.transforms.custom_vmap import custom_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
