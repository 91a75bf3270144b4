"""Parameters of equations in JAX's words: its names, and values that equations here leave out.

Equations leave out what is at its default, so that tracing does not carry it. A program that is
handed to users has them all, and whatever takes a program or parameters from users reads them.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from glassjax.runtime import scan_trees
from glassjax.runtime.inlining import Inline
from glassjax.settings.names import named
from glassjax.settings.tracers import printed_type
from glassjax.shardings.mesh import Mesh
from glassjax_stage2 import Primitive, ShapedArray
from glassjax_stage3 import Jaxpr, abstract_eval_rules
from glassjax_stage3.jaxpr import JaxprEqn, Var

Params = dict[str, Any]


class Words(NamedTuple):
    """The two ways between our parameters of a primitive and the ones that users see.

    `read` takes parameters in JAX's words, in ours, or in both.
    """

    write: Callable[[Params, JaxprEqn], Params]
    read: Callable[[Params], Params]


def written(eqn: JaxprEqn) -> Params:
    """The parameters of an equation in JAX's words.

    >>> import glassjax
    >>> (eqn,) = glassjax.make_jaxpr(glassjax.numpy.sin)(1.0).eqns
    >>> eqn.params
    {'accuracy': None}
    """
    words = _WORDS.get(eqn.primitive.name)
    return eqn.params if words is None else words.write(eqn.params, eqn)


def read(primitive: Primitive, params: Params) -> Params:
    """The parameters of a primitive in our words.

    A program is a value like others where its primitive does not run it: users find it as they
    passed it, and may compare it by identity.
    """
    words = _WORDS.get(primitive.name)
    params = params if words is None else words.read(params)
    if not primitive.higher_order:
        return params
    return {key: _read_value(x) for key, x in params.items()}


def _read_value(x: Any) -> Any:
    if isinstance(x, Jaxpr):
        return read_jaxpr(x)
    if isinstance(x, tuple) and any(isinstance(each, Jaxpr) for each in x):
        values = map(_read_value, x)
        return x._make(values) if hasattr(x, "_make") else tuple(values)
    return x


def read_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The program with the parameters of its equations in our words.

    While the equations are the same, it is the same program, so that what was compiled is found.
    """
    given, program = _read.get(jaxpr, ((), None))
    if program is None or given != tuple(jaxpr.eqns):
        given = tuple(jaxpr.eqns)
        eqns = list(map(_read_eqn, given))
        program = Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, jaxpr.outvars, jaxpr.consts)
        _read[jaxpr] = given, program
    return program


def _read_eqn(eqn: JaxprEqn) -> JaxprEqn:
    params = read(eqn.primitive, eqn.params)
    return JaxprEqn(eqn.primitive, eqn.invars, eqn.outvars, params, eqn.source)


# By program, its equations when it was read, and what was read.
_read: WeakKeyDictionary[Jaxpr, tuple[Sequence[JaxprEqn], Jaxpr | None]] = WeakKeyDictionary()


def _defaults(**values: Any) -> Words:
    """Parameters that equations here have only at other values than these, if at all."""

    def without(params: Params) -> Params:
        return {key: x for key, x in params.items() if key not in values or x != values[key]}

    return Words(lambda params, _: values | params, without)


def _renamed(**names: str) -> Words:
    ours = {theirs: own for own, theirs in names.items()}
    return Words(
        lambda params, _: {names.get(key, key): x for key, x in params.items()},
        lambda params: {ours.get(key, key): x for key, x in params.items()},
    )


# `jit`: what its call says besides the program and its name. Options belong to calls of a jitted
# function from outside; within a program there is none.


class UnspecifiedValue:
    """The sharding of an operand or result that the caller leaves to the compiler."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


UNSPECIFIED = UnspecifiedValue()


def _write_jit(params: Params, eqn: JaxprEqn) -> Params:
    ins, outs = len(eqn.invars), len(eqn.outvars)
    return {
        "jaxpr": params["jaxpr"],
        "in_shardings": (UNSPECIFIED,) * ins,
        "out_shardings": (UNSPECIFIED,) * outs,
        "in_layouts": (None,) * ins,
        "out_layouts": (None,) * outs,
        "donated_invars": (False,) * ins,
        "ctx_mesh": Mesh(np.empty((), dtype=object), ()),
        "name": params["name"],
        "keep_unused": False,
        "inline": Inline.AUTO,
        "compiler_options_kvs": (),
    }


def _read_jit(params: Params) -> Params:
    return {"jaxpr": params["jaxpr"], "name": params["name"]}


# Functions with custom derivatives. A rule of ours has all functions of JAX's parameters.


def _write_custom_jvp(params: Params, _: JaxprEqn) -> Params:
    return _write_custom_call(params) | {"jvp_jaxpr_fun": params["rule"]}


def _write_custom_vjp(params: Params, _: JaxprEqn) -> Params:
    rule = params["rule"]
    functions = {"fwd_jaxpr_thunk": rule, "bwd": rule.bwd, "out_trees": rule.out_trees}
    return _write_custom_call(params) | functions


def _write_custom_call(params: Params) -> Params:
    return {
        "call_jaxpr": params["jaxpr"],
        "num_consts": params["num_consts"],
        "symbolic_zeros": params["rule"].names.get("symbolic_zeros", False),
    }


def _read_custom_call(params: Params) -> Params:
    if "rule" in params:
        return params
    rule = params["jvp_jaxpr_fun" if "jvp_jaxpr_fun" in params else "fwd_jaxpr_thunk"]
    return {"jaxpr": params["call_jaxpr"], "num_consts": params["num_consts"], "rule": rule}


def _write_cond(params: Params, eqn: JaxprEqn) -> Params:
    platforms = getattr(getattr(eqn.invars[0], "aval", None), "platforms", None)
    return params if platforms is None else {**params, "branches_platforms": platforms}


# `scan`: its numbers of constants, carried values and elements, as trees of leaves.


def _write_scan(params: Params, _: JaxprEqn) -> Params:
    consts, carry = params["num_consts"], params["num_carry"]
    ft_in, ft_out = scan_trees.trees_of(params["jaxpr"], consts, carry)
    return _without(params, "num_consts", "num_carry") | {"ft_in": ft_in, "ft_out": ft_out}


def _read_scan(params: Params) -> Params:
    if "ft_in" not in params:
        return params
    consts, carry, _ = map(scan_trees.number_of_leaves, params["ft_in"].unpack())
    return _without(params, "ft_in", "ft_out") | {"num_consts": consts, "num_carry": carry}


def _without(params: Params, *names: str) -> Params:
    return {key: x for key, x in params.items() if key not in names}


# Products.


def _write_dot_general(params: Params, eqn: JaxprEqn) -> Params:
    dtype = eqn.outvars[0].aval.dtype
    written = {
        "precision": None,
        "preferred_element_type": None if dtype.kind == "b" else dtype,
        "out_sharding": None,
    } | params
    precision = written["precision"]
    if isinstance(precision, str) and precision.startswith("["):  # not an algorithm
        levels = named("glassjax.lax.precision", "Precision")
        written["precision"] = tuple(levels[x] for x in precision.strip("[]").split(", "))
    return written


def _read_dot_general(params: Params) -> Params:
    kept = "preferred_element_type"  # None is written as None
    read = {key: x for key, x in params.items() if x is not None or key == kept}
    if isinstance(read.get("precision"), tuple):
        read["precision"] = f"[{', '.join(map(str, read['precision']))}]"
    return read


# Indexing.


def _write_scatter(params: Params, eqn: JaxprEqn) -> Params:
    """Add the program that combines two elements, implied by the name of the primitive."""
    program = None
    if eqn.primitive.name in COMBINE:
        combine = _primitive_named(COMBINE[eqn.primitive.name])
        old, new, out = (Var(ShapedArray((), eqn.outvars[0].aval.dtype)) for _ in range(3))
        program = Jaxpr([], [old, new], [JaxprEqn(combine, [old, new], [out], {})], [out])
    return params | {"update_jaxpr": program, "update_consts": ()}


def _write_gather(params: Params, eqn: JaxprEqn) -> Params:
    """Add the fill value for elements out of bounds, if they are filled."""
    if "FILL" not in str(params["mode"]) or params["fill_value"] is not None:
        return params
    dtype = eqn.outvars[0].aval.dtype
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        fill: Any = limits.min if dtype.kind == "i" else limits.max
    else:
        fill = True if dtype.kind == "b" else float("nan")
    return params | {"fill_value": fill}


def _write_top_k(params: Params, eqn: JaxprEqn) -> Params:
    return params | {"axis": eqn.outvars[0].aval.ndim - 1, "is_stable": True}


def _write_arg_extremum(params: Params, _: JaxprEqn) -> Params:
    return {"axes": (params["axis"],), "index_dtype": params["index_dtype"]}


def _read_arg_extremum(params: Params) -> Params:
    if "axes" not in params:
        return params
    (axis,) = params["axes"]
    return {"axis": axis, "index_dtype": params["index_dtype"]}


def _write_conj(params: Params, eqn: JaxprEqn) -> Params:
    return params | {"input_dtype": eqn.invars[0].aval.dtype}


def _write_callback(params: Params, _: JaxprEqn) -> Params:
    avals = tuple(map(printed_type, params["result_avals"]))
    return {"sharding": None} | params | {"result_avals": avals}


def _same(params: Params) -> Params:
    return params


@cache
def _primitive_named(name: str) -> Primitive:
    return next(primitive for primitive in abstract_eval_rules if primitive.name == name)


COMBINE = {f"scatter-{name}": name for name in ("add", "mul", "min", "max")}
ELEMENTARY = (
    "cbrt", "cos", "erfc", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin",
    "sqrt", "tan", "tanh",
)  # fmt: skip
_SCATTER = Words(_write_scatter, lambda params: _without(params, "update_jaxpr", "update_consts"))
_CALLBACK = Words(_write_callback, _defaults(sharding=None).read)

# By the name of the primitive.
_WORDS: dict[str, Words] = {
    **dict.fromkeys(ELEMENTARY, _defaults(accuracy=None)),
    "mul": _defaults(out_dtype=None),
    "conj": Words(_write_conj, lambda params: _without(params, "input_dtype")),
    "convert_element_type": _defaults(weak_type=False, sharding=None),
    **dict.fromkeys(("reduce_sum", "reduce_max", "reduce_min"), _defaults(out_sharding=None)),
    "argmax": Words(_write_arg_extremum, _read_arg_extremum),
    "argmin": Words(_write_arg_extremum, _read_arg_extremum),
    "reshape": _defaults(dimensions=None, sharding=None),
    "broadcast_in_dim": _defaults(sharding=None),
    "iota": _defaults(sharding=None),
    "dot_general": Words(_write_dot_general, _read_dot_general),
    "conv_general_dilated": _defaults(
        precision=None, preferred_element_type=None, out_sharding=None
    ),
    "gather": Words(_write_gather, _same),
    **dict.fromkeys(("scatter", *COMBINE), _SCATTER),
    "top_k": Words(_write_top_k, lambda params: _without(params, "axis", "is_stable")),
    "qr": _defaults(pivoting=False, use_magma=None),
    "svd": _defaults(algorithm=None, subset_by_index=None),
    "eigh": _defaults(algorithm=None, sort_eigenvalues=True, subset_by_index=None),
    "rng_bit_generator": _defaults(out_sharding=None),
    **dict.fromkeys(("pure_callback", "io_callback"), _CALLBACK),
    "jit": Words(_write_jit, _read_jit),
    "custom_jvp_call": Words(_write_custom_jvp, _read_custom_call),
    "custom_vjp_call": Words(_write_custom_vjp, _read_custom_call),
    "cond": Words(_write_cond, lambda params: _without(params, "branches_platforms")),
    "scan": Words(_write_scan, _read_scan),
    "while": _renamed(cond_consts="cond_nconsts", body_consts="body_nconsts"),
    "remat2": _renamed(again="differentiated"),
}
