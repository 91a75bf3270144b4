"""Methods that primitives, jaxprs and types have in JAX, and their effects."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple, NoReturn

import glassjax_stage2 as stage2
from glassjax.runtime.effects import declare_effects, effectful
from glassjax.runtime.evaluation import evaluated_by_library, evaluators
from glassjax.runtime.jax_params import read
from glassjax.runtime.named_scope import NameStack
from glassjax.settings.tracers import plain, type_text
from glassjax_stage1.interpreter import set_interpreter
from glassjax_stage2 import Primitive, ShapedArray, impl_rules
from glassjax_stage2.source import Source
from glassjax_stage2.tangent import tangent_type
from glassjax_stage3 import Jaxpr, JaxprEqn, abstract_eval_rules
from glassjax_stage3.abstract_eval import abstract_eval
from glassjax_stage3.jaxpr import inner_jaxprs
from glassjax_stage4 import UndefPrimal

# Effects of programs, besides returning results, under JAX's class names.


class Effect:
    """The base class of effects, for primitives that libraries define."""


class DebugEffect(Effect):
    """The effect of `debug.print` and `debug.callback`.

    >>> from glassjax import debug
    >>> jaxpr = glassjax.make_jaxpr(lambda x: debug.print("{}", x))(1.0)
    >>> [type(effect) is debug.DebugEffect for effect in jaxpr.effects]
    [True]
    """

    def __str__(self) -> str:
        return "Debug"


class OrderedDebugEffect(Effect):
    """The effect of `debug.print` and `debug.callback` that are `ordered`.

    >>> from glassjax import debug
    >>> str(debug.OrderedDebugEffect())
    'OrderedDebug'
    """

    def __str__(self) -> str:
        return "OrderedDebug"


class IOEffect(Effect):
    """The effect of `io_callback`."""

    def __str__(self) -> str:
        return "IO"


class OrderedIOEffect(Effect):
    """The effect of `io_callback` that is `ordered`."""

    def __str__(self) -> str:
        return "OrderedIO"


class _EffectOf(Effect):
    """The effect of a primitive that does not name one."""

    def __init__(self, primitive: Primitive):
        self._name = primitive.name

    def __repr__(self) -> str:
        return self._name


# By primitive, the function from its parameters to its effect, always the same object.
effect_rules: dict[Primitive, Callable[[dict[str, Any]], Effect]] = {}


def ordered_or_not(ordered: Effect, unordered: Effect) -> Callable[[dict[str, Any]], Effect]:
    """A rule for a primitive with the parameter `ordered`."""
    return lambda params: ordered if params["ordered"] else unordered


def effects_of(program: Jaxpr | JaxprEqn) -> set[Effect]:
    """The effects of running a program, or one equation."""
    if isinstance(program, Jaxpr):
        return {effect for eqn in program.eqns for effect in effects_of(eqn)}
    primitive = program.primitive
    found = {effect for jaxpr in inner_jaxprs(program) for effect in effects_of(jaxpr)}
    if primitive in effectful:
        if primitive not in effect_rules:
            effect = _EffectOf(primitive)
            effect_rules[primitive] = lambda params: effect
        found.add(effect_rules[primitive](program.params))
    return found


def does_io(*programs: Jaxpr) -> bool:
    """Return True if any of the programs calls `io_callback`."""
    found = set[Effect]().union(*map(effects_of, programs))
    return any(isinstance(effect, IOEffect | OrderedIOEffect) for effect in found)


def refuse_io(where: str) -> NoReturn:
    """Raise an error for callbacks that `vmap` would run for examples that do not call them."""
    raise NotImplementedError(
        f"{where}: io_callback in it would run for all of them. Use lax.map, or debug.callback, "
        "which may run more often"
    )


# Methods of primitives, jaxprs and types that programs for JAX call, such as `bind`.
#
# By JAX's convention a rule returns one result, or a list of them if the primitive has
# `multiple_results`; in our tables it returns a list.


Rule = Callable[..., Any]

# First-order primitives with several results; all higher-order ones have several.
_WITH_LIST = {
    "approx_top_k", "device_put", "eig", "eigh", "geqp3", "geqrf", "hessenberg", "lu", "qr",
    "rng_bit_generator", "schur", "sort", "svd", "threefry2x32", "top_k", "tridiagonal",
    "unstack",
}  # fmt: skip


class _MultipleResults:
    """True if rules by JAX's convention return a list; an instance's own value takes precedence."""

    def __get__(self, primitive: Primitive | None, owner: type) -> Any:
        if primitive is None:
            return False
        return primitive.higher_order or primitive.name in _WITH_LIST


def as_list(primitive: Any, result: Any) -> list[Any]:
    """The result of a rule by JAX's convention, converted to ours."""
    return list(result) if primitive.multiple_results else [result]


def as_result(primitive: Any, results: list[Any]) -> Any:
    """The result of one of our rules, converted to JAX's convention."""
    if primitive.multiple_results:
        return results
    (result,) = results
    return result


def is_undefined_primal(x: Any) -> bool:
    """Return True if `x` is a placeholder for a linear operand.

    >>> from glassjax.experimental import hijax
    >>> hijax.is_undefined_primal(2.0)
    False
    """
    return isinstance(x, UndefPrimal)


@evaluated_by_library
def _bind(primitive: Primitive, *args: Any, **params: Any) -> Any:
    """Apply the primitive: its result, or the list of them if it has `multiple_results`.

    Raises:
        MissingRuleError: a transformation at work has no rule for it.
    """
    return as_result(primitive, stage2.bind(primitive, *args, **read(primitive, params)))


@evaluated_by_library
def _impl(primitive: Primitive, *args: Any, **params: Any) -> Any:
    """Evaluate the primitive for arrays, even inside a transformation."""
    with set_interpreter(None):
        return as_result(primitive, stage2.bind(primitive, *args, **read(primitive, params)))


def _def_impl(primitive: Primitive, impl: Rule) -> Rule:
    """Evaluate the primitive by `impl`, a function of arrays, outside transformations."""

    def evaluate_arrays(*operands: Any, **params: Any) -> list[Any]:
        return as_list(primitive, impl(*operands, **params))

    impl_rules[primitive] = evaluators[primitive] = evaluate_arrays
    instance: Any = primitive
    instance.impl = impl  # some programs call it on tracers, to see its operations
    return impl


def _def_abstract_eval(primitive: Primitive, abstract_eval: Rule) -> Rule:
    """Compute the types of results by `abstract_eval`, a function of the types of operands."""
    abstract_eval_rules[primitive] = lambda *avals, **params: [
        plain(aval) for aval in as_list(primitive, abstract_eval(*avals, **params))
    ]
    return abstract_eval


def _def_effectful_abstract_eval(primitive: Primitive, abstract_eval: Rule) -> Rule:
    """As `def_abstract_eval`, for a function that returns types and a set of effects.

    The primitive runs even if its results are unused.
    """
    declare_effects(primitive)
    _def_abstract_eval(primitive, lambda *avals, **params: abstract_eval(*avals, **params)[0])
    return abstract_eval


def _abstract_eval(primitive: Primitive, *avals: Any, **params: Any) -> tuple[Any, Any]:
    """The type of the result for types of operands, or a list of them, and the effects."""
    outs = list(abstract_eval(primitive, avals, read(primitive, params)))
    return as_result(primitive, outs), frozenset()


def _is_high(primitive: Primitive, *avals: Any, **params: Any) -> bool:
    """Return False: no type is lowered to several types."""
    return False


def _get_bind_params(primitive: Primitive, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an equation, for `bind`."""
    return dict(params)


def _replace(program: Any, *, jaxpr: Jaxpr | None = None, **changes: Any) -> Any:
    """The same with other values of some attributes.

    `jaxpr` stands for all attributes of a jaxpr but its constants.
    """
    if jaxpr is not None:
        program = replace(jaxpr, consts=program.consts)
    names = {field.name for field in fields(program)}
    return replace(program, **{name: x for name, x in changes.items() if name in names})


def with_consts(jaxpr: Jaxpr, consts: Sequence[Any]) -> Jaxpr:
    """The same program with these values of its constants."""
    return replace(jaxpr, consts=[*consts])


class EqnContext(NamedTuple):
    """The context of an equation, which JAX keeps beside its parameters; here these hold it."""

    compute_type: None = None
    threefry_partitionable: bool = True
    xla_metadata: None = None

    @property
    def manager(self) -> AbstractContextManager[None]:
        """A context in which to evaluate the equation."""
        return nullcontext()


def _set_methods_of_jaxprs() -> None:
    eqn, jaxpr = JaxprEqn, Jaxpr  # type: tuple[Any, Any]
    for cls in (eqn, jaxpr):
        cls.effects = property(lambda program: effects_of(program))  # without a docstring
        cls.replace = _replace
    eqn.source_info = property(lambda eqn: eqn.source)
    source: Any = Source
    source.name_stack = property(lambda source: NameStack())
    eqn.ctx = property(lambda eqn: EqnContext())
    jaxpr.jaxpr = property(lambda jaxpr: jaxpr)  # for programs written when JAX had two classes
    jaxpr.literals = property(lambda jaxpr: jaxpr.consts)
    jaxpr.debug_info = None
    jaxpr.is_high = False
    jaxpr.all_invars = property(lambda jaxpr: [*jaxpr.constvars, *jaxpr.invars])
    jaxpr.num_consts = property(lambda jaxpr: len(jaxpr.constvars))
    jaxpr.with_consts = with_consts


def _set_methods_of_types() -> None:
    cls: Any = ShapedArray
    cls.to_tangent_aval = property(lambda aval: partial(tangent_type, aval))
    cls.to_ct_aval = cls.at_least_vspace = cls.to_tangent_aval
    cls.update_weak_type = property(lambda aval: lambda weak: aval.update(weak_type=weak))
    cls.str_short = property(lambda aval: partial(_short_text, aval))
    cls.is_high = False
    cls.itemsize = property(lambda aval: aval.dtype.itemsize)
    cls.nbytes = property(lambda aval: aval.dtype.itemsize * aval.size)


def _short_text(aval: ShapedArray, short_dtypes: bool = False, **options: Any) -> str:
    return str(aval) if short_dtypes else type_text(aval).removeprefix("~")


def set_methods() -> None:
    """Give all primitives, jaxprs and types these methods, including the stages'."""
    _set_methods_of_types()
    _set_methods_of_jaxprs()
    methods: Any = Primitive
    methods.multiple_results = _MultipleResults()
    methods.call_primitive = methods.map_primitive = methods.ref_primitive = False
    for method in (
        _bind,
        _impl,
        _def_impl,
        _def_abstract_eval,
        _def_effectful_abstract_eval,
        _get_bind_params,
        _abstract_eval,
        _is_high,
    ):
        method.__name__ = method.__name__.removeprefix("_")
        method.__qualname__ = f"Primitive.{method.__name__}"
        setattr(methods, method.__name__, method)
