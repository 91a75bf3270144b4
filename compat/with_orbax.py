"""orbax: a tree of arrays is saved and restored."""

import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

DISTRIBUTION = "orbax-checkpoint"


def main():
    state = {
        "params": {"w": jax.random.normal(jax.random.key(0), (4, 3)), "b": jnp.arange(3)},
        "step": jnp.array(7),
    }
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "state"
        with ocp.StandardCheckpointer() as checkpointer:
            checkpointer.save(path, state)
            checkpointer.wait_until_finished()
            restored = checkpointer.restore(path, jax.tree.map(jnp.zeros_like, state))
        options = ocp.CheckpointManagerOptions(max_to_keep=2)
        with ocp.CheckpointManager(Path(directory) / "steps", options=options) as manager:
            for step in range(4):
                changed = {**state, "step": jnp.array(step)}
                manager.save(step, args=ocp.args.StandardSave(changed))
            manager.wait_until_finished()
            kept = sorted(manager.all_steps())
            last = manager.restore(3, args=ocp.args.StandardRestore(state))
    return {"restored": restored, "kept": kept, "last": last["step"]}
