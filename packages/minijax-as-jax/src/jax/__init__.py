"""minijax, where a program imports jax."""

__minijax_shim__ = True

from minijax.as_jax import import_as_jax

import_as_jax(__name__)
