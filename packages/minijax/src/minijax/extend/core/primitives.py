"""The primitives, by their names and `_p`, as programs write them that read jaxprs.

`add_p` to `while_p` are those of `lax`. What JAX computes by a primitive of its own and this
library by others, `square` for instance, has none here.
"""

import typing as _typing

import minijax.numpy.references as _references
from minijax.core import ClosedJaxpr as _ClosedJaxpr
from minijax.core import jaxpr_as_fun as _jaxpr_as_fun
from minijax.extend.core.call_primitives import (
    create_call_primitive,
    register_call_primitive_rules,
)
from minijax.extend.linear_util import wrap_init as _wrap_init
from minijax.lax.composites import inlined as _inlined
from minijax.lax.primitive_names import primitive_named as _primitive_named
from minijax.random.primitives import (
    random_bits_p,
    random_fold_in_p,
    random_seed_p,
    random_split_p,
)
from minijax.random.threefry import threefry2x32_p
from minijax.transforms.checkpoint import checkpoint_p as remat_p
from minijax.transforms.checkpoint_policies import name_p
from minijax.transforms.custom_derivatives.linear_call import custom_linear_p as custom_lin_p
from minijax.transforms.custom_derivatives.rules import custom_call_p as custom_jvp_call_p
from minijax.transforms.custom_derivatives.rules import custom_call_p as custom_vjp_call_p
from minijax_stage2 import Primitive as _Primitive
from minijax_stage2.primitives import add_p as add_jaxvals_p
from minijax_stage3.jit import jit_p
from minijax_stage4.stop_gradient import stop_gradient_p


def _whole(name: str, transforms: tuple[_typing.Any, ...]) -> None:
    if transforms:
        raise NotImplementedError(
            f"{name}.bind: only whole references are read and written; ref[index] and ref.get, "
            "ref.swap with an index are of parts"
        )


def _get(ref: _typing.Any, *transforms: _typing.Any, tree: _typing.Any) -> _typing.Any:
    _whole("get_p", transforms)
    return _references.get(ref)


def _swap(
    ref: _typing.Any, value: _typing.Any, *transforms: _typing.Any, tree: _typing.Any
) -> _typing.Any:
    _whole("swap_p", transforms)
    return _references.swap(ref, None, value)


def _bind_params_with_function(params: dict[str, _typing.Any]) -> dict[str, _typing.Any]:
    """The parameters, with the function that has the derivative as the first of `subfuns`."""
    function = _wrap_init(_jaxpr_as_fun(_ClosedJaxpr(params["jaxpr"], [])))
    return {**params, "subfuns": (function,)}


def _bind_without_function(
    *args: _typing.Any, subfuns: _typing.Any = (), **params: _typing.Any
) -> _typing.Any:
    return _typing.cast(_typing.Any, _Primitive).bind(custom_jvp_call_p, *args, **params)


_custom_call: _typing.Any = custom_jvp_call_p
_custom_call.get_bind_params = _bind_params_with_function
_custom_call.bind = _bind_without_function


# References are resolved as a function is traced: programs have no equations of these.
get_p = _inlined("get", _get)
swap_p = _inlined("swap", _swap)

# Programs compare the primitives of equations with them; no equation here has them.
call_p = _Primitive("core_call", higher_order=True)
closed_call_p = _Primitive("core_closed_call", higher_order=True)

__all__ = [
    "add_jaxvals_p", "call_p", "closed_call_p", "create_call_primitive", "custom_jvp_call_p",
    "custom_lin_p", "custom_vjp_call_p", "get_p", "jit_p", "name_p", "random_bits_p",
    "random_fold_in_p", "random_seed_p", "random_split_p", "register_call_primitive_rules",
    "remat_p", "stop_gradient_p", "swap_p", "threefry2x32_p",
]  # fmt: skip

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> _typing.Any:
        return _primitive_named(__name__, name)
