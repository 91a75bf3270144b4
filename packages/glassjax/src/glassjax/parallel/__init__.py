"""Functions mapped over axes and devices: `vmap`, Jacobians by it, `shard_map`, `pmap` on top."""
