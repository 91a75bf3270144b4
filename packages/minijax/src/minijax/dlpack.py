"""Exchange of arrays through DLPack, under the names of `jax.dlpack`."""

from minijax.runtime.dlpack import from_dlpack, is_supported_dtype

__all__ = ["from_dlpack", "is_supported_dtype"]
