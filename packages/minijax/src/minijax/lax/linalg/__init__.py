"""The decompositions of matrices, with the names and strictness of `jax.lax.linalg`.

The primitives of these functions have their names with `_p` after them: `cholesky_p`.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from minijax.lax.linalg.declared_primitives import *
    from minijax.lax.linalg.promoting import *
else:
    from minijax.settings.facades import lazy_facade as _lazy_facade

    def _strict(name: str, function: _Any) -> _Any:
        from minijax.lax.linalg.strict import strict_function

        return strict_function(name, function)

    def _primitive(module: str, name: str) -> _Any:
        from minijax.lax.primitive_names import primitive_of_linalg

        return primitive_of_linalg(module, name)

    _lazy_facade(globals(), _strict, _primitive)
