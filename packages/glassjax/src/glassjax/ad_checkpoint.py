"""`checkpoint`: reverse mode that keeps few residuals and recomputes the rest."""

from glassjax.explaining.explain import print_saved_residuals
from glassjax.transforms.checkpoint import (
    Offloadable,
    Recompute,
    Saveable,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    name_p,
)

checkpoint_name_fwd = checkpoint_name  # in JAX, too, but under a setting

__all__ = [
    "Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name", "checkpoint_name_fwd",
    "checkpoint_policies", "name_p", "print_saved_residuals",
]  # fmt: skip
