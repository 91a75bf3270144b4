"""Programs for each device of a mesh: `shard_map`, and `pmap` on top of it."""
