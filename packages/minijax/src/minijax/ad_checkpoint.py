"""`checkpoint`: a function of which reverse mode keeps little, and computes the rest once more."""

from minijax.transforms.checkpoint import checkpoint, checkpoint_name, checkpoint_policies

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
]
