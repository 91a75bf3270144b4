"""Effects, and the tokens that order them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import glassjax_stage3 as stage3
from glassjax.runtime.array import Array, Placed
from glassjax.settings.number_types import no_numbers
from glassjax_stage2 import Primitive, ShapedArray
from glassjax_stage2.shaped_array import float0
from glassjax_stage2.trace import Rules
from glassjax_stage3 import Jaxpr, JaxprEqn, Literal, Var, backend
from glassjax_stage3.array import Array as Stage3Array
from glassjax_stage3.array import new_buffer
from glassjax_stage3.dce import dce_rules
from glassjax_stage3.executable import cached_by_jaxpr
from glassjax_stage3.jaxpr import Atom, inner_jaxprs
from glassjax_stage3.lowering import type_text

# Columns of rules for higher-order primitives only.


class ProgramRules(Rules):
    """A column with rules for higher-order primitives only; None if one needs no rule.

    >>> costs_of_programs = ProgramRules("the cost of programs", "costs_of_programs")
    >>> repeat_p = Primitive("repeat", higher_order=True)
    >>> costs_of_programs[repeat_p] = None
    >>> costs_of_programs.of(repeat_p), costs_of_programs.of(Primitive("twice"))
    (None, None)
    """

    def of(self, primitive: Primitive) -> Callable[..., Any] | None:
        """The rule of `primitive`; None if it needs none.

        Raises:
            MissingRuleError: it is a higher-order primitive, and the column has no rule for it.
        """
        return self[primitive] if primitive.higher_order else None


# Effects of programs that do more than return results, and so must run even if unused.


DCERule = Callable[[Sequence[bool], JaxprEqn], tuple[list[bool], JaxprEqn | None]]

effectful: set[Primitive] = set()


def has_effects(program: Jaxpr | JaxprEqn) -> bool:
    """Return True if a program, or one equation, does more than return results."""
    if isinstance(program, Jaxpr):
        # A set first: programs have many equations and few primitives, and most of them no inner
        # programs.
        primitives = {eqn.primitive for eqn in program.eqns}
        if not any(primitive.higher_order for primitive in primitives):
            return not effectful.isdisjoint(primitives)
        return any(map(has_effects, program.eqns))
    if program.primitive in effectful:
        return True
    return program.primitive.higher_order and any(map(has_effects, inner_jaxprs(program)))


def declare_effects(primitive: Primitive) -> None:
    """Let a primitive run even if nothing uses its results."""
    effectful.add(primitive)
    define_dce(primitive, dce_rules.get(primitive))


def define_dce(primitive: Primitive, rule: DCERule | None) -> None:
    """Let `rule` shrink equations that are used or have effects; None: they do not change."""

    def dce(used_outs: Sequence[bool], eqn: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
        if not any(used_outs) and not has_effects(eqn):
            return [False] * len(eqn.invars), None
        return ([True] * len(eqn.invars), eqn) if rule is None else rule(used_outs, eqn)

    dce_rules[primitive] = dce


# Tokens: values without data that order XLA's operations.


_TOKEN = np.dtype([("Tok", np.bool_)])  # on the device, a token is an empty array of booleans
no_numbers.add(_TOKEN)

takes_tokens: set[Primitive] = set()  # except higher-order ones


class AbstractToken(ShapedArray):
    """The type of tokens; its only instance is `abstract_token`.

    >>> from glassjax.extend.core import AbstractToken
    >>> AbstractToken(), str(AbstractToken())
    (AbstractToken(), 'Tok')
    """

    __slots__ = ()

    is_opaque = True
    plain = ShapedArray((0,), _TOKEN)

    def __new__(cls) -> "AbstractToken":
        return abstract_token

    def __reduce__(self) -> tuple[Any, ...]:
        return AbstractToken, ()

    def __repr__(self) -> str:
        return "AbstractToken()"

    def __str__(self) -> str:
        return "Tok"

    @staticmethod
    def abstract_eval(
        primitive: Primitive, in_avals: Sequence[ShapedArray], params: dict[str, Any]
    ) -> list[ShapedArray]:
        """Return the types of the results of a primitive with tokens among its operands.

        Raises:
            TypeError: it takes arrays; or it is `cond`, for which XLA has no tokens.
        """
        chooses = primitive.name == "cond"
        if chooses or not (primitive.higher_order or primitive in takes_tokens):
            raise TypeError(
                f"{primitive}: expected arrays, found a token, which holds nothing; pass tokens to "
                "after_all, to jitted functions and loops, and through vmap with out_axes=None"
            )
        found: list[ShapedArray] = stage3.abstract_eval_rules[primitive](*in_avals, **params)
        return found

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """Return the type as jaxprs show it."""
        return str(self)

    def to_tangent_aval(self) -> "AbstractToken":
        """Return the type of tangents, which is the same."""
        return self

    to_ct_aval = to_tangent_aval

    def update(self, **changes: Any) -> ShapedArray:
        """Return the same type, or the type of zero tangents for the dtype float0.

        Raises:
            TypeError: anything else changes.
        """
        fields = {"shape": self.shape, "dtype": self.dtype, "weak_type": False}
        if changes.get("dtype") == float0:
            return ShapedArray(self.shape, float0)
        if {**fields, **changes} != fields:
            raise TypeError(
                "a token holds nothing, so it has no other shape or dtype, and cannot be mapped, "
                "stacked or converted; pass it as it is, with in_axes=None"
            )
        return self


def _the_type() -> AbstractToken:
    aval = object.__new__(AbstractToken)
    aval.shape, aval.dtype, aval.weak_type = (0,), _TOKEN, False
    return aval


@type_text.register
def _(aval: AbstractToken) -> str:
    return "!stablehlo.token"


abstract_token = _the_type()


class Token(Stage3Array):
    """A token: a result that makes another program wait for this one.

    Arguments:
        buf: an Array or a buffer; the token is ready when it is.

    >>> from glassjax import lax
    >>> token = lax.create_token()
    >>> glassjax.typeof(token), token.block_until_ready()
    (AbstractToken(), None)
    """

    __slots__ = ("_buf",)

    def __init__(self, buf: Any):
        self._buf = buf
        # An Array's buffer may be anywhere; a token is passed on as one of the default device.
        super().__init__(_empty() if isinstance(buf, Array) else buf, abstract_token)

    @property
    def held(self) -> backend.Buffer:
        """The buffer that is ready when the token is."""
        return self._buf.buffer if isinstance(self._buf, Array) else self._buf

    def block_until_ready(self) -> None:
        """Wait until the operation that made the token is done."""
        self._buf.block_until_ready()

    __repr__ = __str__ = object.__repr__


def new_token() -> Token:
    """Return a token that is ready."""
    return Token(_empty())


def _empty() -> backend.Buffer:
    aval = ShapedArray(abstract_token.shape, np.bool_)
    return new_buffer(np.zeros(aval.shape, np.bool_), aval)


def result_of_type(buffer: backend.Buffer, call_key: ShapedArray | Placed) -> Any:
    """Return a result of a program, an Array or a token."""
    if call_key is abstract_token:
        return Token(buffer)
    if isinstance(call_key, Placed):
        x = call_key.array(buffer)
        return Token(x) if x.aval is abstract_token else x
    return Array(buffer, call_key)


# Ordered effects: a pass over jaxprs that makes the order of callbacks explicit.
#
# XLA orders operations by data dependence. So each callback takes a token, a boolean that the
# previous callback returned, and returns one for the next. A program inside another takes and
# returns a token; a loop carries it.


TOKEN = ShapedArray((), np.bool_)  # the type of a token

# `rule(with_token, eqn, token, following) -> eqns`: the equations that do what `eqn` does after
# whatever returned `token`, and return `following`. `with_token` makes a program that takes and
# returns a token, last. None: its effects are unordered.
order_rules = ProgramRules("ordered effects", "order_rules")


# --8<-- [start:order]
def order_effects(jaxpr: Jaxpr) -> Jaxpr:
    """Return `jaxpr` with tokens that order its effects."""
    if not has_effects(jaxpr):
        return jaxpr
    eqns, _ = _one_after_another(jaxpr.eqns, Literal(np.bool_(False), TOKEN))
    return Jaxpr(jaxpr.constvars, jaxpr.invars, eqns, jaxpr.outvars)


@cached_by_jaxpr
def _with_token(jaxpr: Jaxpr) -> Jaxpr:
    """`jaxpr` with a token as its last argument, and the next one as its last result."""
    token = Var(TOKEN)
    eqns, last = _one_after_another(jaxpr.eqns, token)
    return Jaxpr([], [*jaxpr.invars, token], eqns, [*jaxpr.outvars, last])


def _one_after_another(eqns: list[JaxprEqn], token: Atom) -> tuple[list[JaxprEqn], Atom]:
    ordered = []
    for eqn in eqns:
        if has_effects(eqn):
            following = Var(TOKEN)
            ordered += _rule_of(eqn.primitive)(_with_token, eqn, token, following)
            token = following
        else:
            ordered.append(eqn)
    return ordered, token


# --8<-- [end:order]


def _rule_of(primitive: Primitive) -> Callable[..., list[JaxprEqn]]:
    rule = order_rules.of(primitive)
    if rule is None:
        raise NotImplementedError(
            f"{primitive}: a function inside of it calls Python, as debug.print does, "
            "and the order of its effects is not defined. Call Python before or after it"
        )
    return rule
