"""The primitives as functions, under the names of `jax.lax`.

Each takes Arrays, numpy arrays, Python numbers and tracers, and returns Arrays. Operands must have
one dtype and one shape, scalars aside, and axes count from 0, as in JAX; only `minijax.numpy`
promotes. Primitives have their names with `_p` after them: `add_p`.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from minijax.lax import linalg as linalg
    from minijax.lax.declared_primitives import *
    from minijax.lax.promoting import *
else:
    from minijax.settings.facades import lazy_facade as _lazy_facade

    def _strict(name: str, function: _Any) -> _Any:
        from minijax.lax.strict import strict_function

        return strict_function(name, function)

    def _primitive(module: str, name: str) -> _Any:
        from minijax.lax.primitive_names import primitive_named

        return primitive_named(module, name)

    _lazy_facade(globals(), _strict, _primitive)
