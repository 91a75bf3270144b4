"""The decompositions of matrices, with the names of `jax.lax.linalg` and as strict as those."""

# ruff: noqa: F403
import inspect as _inspect
from collections.abc import Callable as _Callable
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any
from typing import TypeVar as _TypeVar

import minijax.lax.linalg.promoting as _promoting
from minijax.lax.linalg.promoting import *
from minijax.lax.linalg.promoting import __all__
from minijax.lax.primitive_names import primitive_named as _primitive_named
from minijax.lax.strict import checked as _checked
from minijax.lax.strict import require_one_dtype as _require_one_dtype
from minijax.primitives.declare import require_kind as _require_kind
from minijax_stage1.source import name_of as _name_of
from minijax_stage2 import typeof as _typeof

_Function = _TypeVar("_Function", bound=_Callable[..., _Any])


def _of_floats(function: _Function, count: int = 1, kinds: str = "fc") -> _Function:
    """`function`, whose first `count` arguments must have one dtype, of these kinds."""
    name = _name_of(function)
    names = list(_inspect.signature(function).parameters)[:count]

    def check(*args: _Any, **kwargs: _Any) -> None:
        given = [*args[:count], *(kwargs[name] for name in names if name in kwargs)]
        _require_kind(name, kinds, *map(_typeof, given))
        _require_one_dtype(name, *given)

    return _checked(function, check)


cholesky_update = _of_floats(_promoting.cholesky_update, 2, "f")
eig = _of_floats(_promoting.eig)
geqrf = _of_floats(_promoting.geqrf)
hessenberg = _of_floats(_promoting.hessenberg)
lu = _of_floats(_promoting.lu)
ormqr = _of_floats(_promoting.ormqr)
qr = _of_floats(_promoting.qr)
schur = _of_floats(_promoting.schur)
svd = _of_floats(_promoting.svd)
symmetric_product = _of_floats(_promoting.symmetric_product, 2, "f")
triangular_solve = _of_floats(_promoting.triangular_solve, 2)
tridiagonal = _of_floats(_promoting.tridiagonal)
tridiagonal_solve = _of_floats(_promoting.tridiagonal_solve, 4)

if not _TYPE_CHECKING:  # for which a module with this function has every attribute

    def __getattr__(name: str) -> _Any:
        """The primitives of the functions here, by their names and `_p`: `cholesky_p`."""
        return _primitive_named(__name__, name, among=__all__)
