"""Tokens: values that hold nothing, and order what XLA does."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.runtime.array import Array, Placed
from minijax.settings.key_types import no_numbers
from minijax_stage2 import Primitive, ShapedArray
from minijax_stage2.shaped_array import float0
from minijax_stage3 import abstract_eval_rules, backend
from minijax_stage3.array import Array as Stage3Array
from minijax_stage3.array import new_buffer
from minijax_stage3.lowering import type_text

_TOKEN = np.dtype([("Tok", np.bool_)])  # on the device, a token is an empty array of booleans
no_numbers.add(_TOKEN)

takes_tokens: set[Primitive] = set()  # of those that hold no programs


class AbstractToken(ShapedArray):
    """The type of tokens, of which there is one object, `abstract_token`.

    >>> from minijax.extend.core import AbstractToken
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
        """Return the types of the results of a primitive that is given tokens.

        Raises:
            TypeError: it takes arrays; or it is `cond`, in which XLA knows no tokens.
        """
        chooses = primitive.name == "cond"
        if chooses or not (primitive.higher_order or primitive in takes_tokens):
            raise TypeError(
                f"{primitive}: expected arrays, found a token, which holds nothing; pass tokens to "
                "after_all, to jitted functions and loops, and through vmap with out_axes=None"
            )
        found: list[ShapedArray] = abstract_eval_rules[primitive](*in_avals, **params)
        return found

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """Return the type as jaxprs show it."""
        return str(self)

    def to_tangent_aval(self) -> "AbstractToken":
        """Return the type of tangents, which is the same."""
        return self

    to_ct_aval = to_tangent_aval

    def update(self, **changes: Any) -> ShapedArray:
        """Return the type, if nothing changes, and that of zero tangents for dtype float0.

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
    """A token: what a program returns that another one is to follow.

    Arguments:
        buf: an Array or a buffer; the token is ready when it is.

    >>> from minijax import lax
    >>> token = lax.create_token()
    >>> minijax.typeof(token), token.block_until_ready()
    (AbstractToken(), None)
    """

    __slots__ = ("_buf",)

    def __init__(self, buf: Any):
        self._buf = buf
        # That of an Array may lie anywhere; a token is passed on as one of the default device.
        super().__init__(_empty() if isinstance(buf, Array) else buf, abstract_token)

    @property
    def held(self) -> backend.Buffer:
        """The buffer that is ready when the token is."""
        return self._buf.buffer if isinstance(self._buf, Array) else self._buf

    def block_until_ready(self) -> None:
        """Wait until what made the token is done."""
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


__all__ = ["AbstractToken", "Token", "abstract_token"]
