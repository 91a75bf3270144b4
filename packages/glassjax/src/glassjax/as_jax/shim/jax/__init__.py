"""glassjax, where a program imports jax."""

__glassjax_shim__ = True

from glassjax.as_jax import import_as_jax

import_as_jax(__name__)
