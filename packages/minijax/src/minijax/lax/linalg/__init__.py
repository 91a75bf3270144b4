"""The decompositions of matrices, with the names and strictness of `jax.lax.linalg`.

The primitives of these functions have their names with `_p` after them: `cholesky_p`.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from minijax.lax.linalg.declared_primitives import *
    from minijax.lax.linalg.promoting import *
else:
    from minijax.settings.facades import lazy_facade as _lazy_facade
    from minijax.settings.facades import primitives_by as _primitives_by
    from minijax.settings.later import later as _later

    _lazy_facade(
        globals(),
        _later("minijax.lax.linalg.strict", "strict_function"),
        _primitives_by("primitive_of_linalg"),
    )
