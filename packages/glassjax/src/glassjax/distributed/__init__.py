"""Several processes that compute together (`jax.distributed`)."""

from glassjax.distributed.runtime import initialize, is_initialized, shutdown

__all__ = ["initialize", "is_initialized", "shutdown"]
