"""Precision of products, on devices that offer a choice.

A CPU offers hardly any: it multiplies 32-bit numbers in full precision, whatever is requested.
"""

import enum
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from glassjax.settings.config import ReusableContext, config
from glassjax.settings.number_types import NumbersOption
from glassjax_stage2.errors import shown
from glassjax_stage3.lowering import element_type


class Precision(enum.Enum):
    """Precision of products of 32-bit numbers: fast, better, or exact.

    Strings name them, too: "default", "fastest" or "bfloat16"; "high" or "tensorfloat32"; "highest"
    or "float32". Members of `DotAlgorithmPreset` are named by their own names.

    >>> jnp.matmul(jnp.ones((2, 2)), jnp.ones(2), precision=lax.Precision.HIGHEST)
    Array([2., 2.], dtype=float32)
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> "Precision | None":
        return cls.__members__.get(_MEANING.get(value, "")) if isinstance(value, str) else None

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


_MEANING = {
    "default": "DEFAULT",
    "fastest": "DEFAULT",
    "bfloat16": "DEFAULT",
    "high": "HIGH",
    "bfloat16_3x": "HIGH",
    "tensorfloat32": "HIGH",
    "highest": "HIGHEST",
    "float32": "HIGHEST",
}


class DotAlgorithm(NamedTuple):
    """The algorithm of a product in full detail; types are dtypes, or "tf32".

    A component is a number of the narrow type; several represent one of the operand's type.

    >>> algorithm = lax.DotAlgorithm(np.float32, np.float32, np.float32)
    >>> lax.dot(jnp.ones(2), jnp.ones(2), precision=algorithm)
    Array(2., dtype=float32)
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """The named algorithms: types of the operands and of the sum, and the number of products.

    >>> jnp.dot(jnp.ones(2), jnp.ones(2), precision=lax.DotAlgorithmPreset.F32_F32_F32)
    Array(2., dtype=float32)
    """

    DEFAULT = None
    F16_F16_F16 = DotAlgorithm("f16", "f16", "f16")
    F16_F16_F32 = DotAlgorithm("f16", "f16", "f32")
    BF16_BF16_BF16 = DotAlgorithm("bf16", "bf16", "bf16")
    BF16_BF16_F32 = DotAlgorithm("bf16", "bf16", "f32")
    BF16_BF16_F32_X3 = DotAlgorithm("bf16", "bf16", "f32", 1, 1, 3)
    BF16_BF16_F32_X6 = DotAlgorithm("bf16", "bf16", "f32", 1, 1, 6)
    BF16_BF16_F32_X9 = DotAlgorithm("bf16", "bf16", "f32", 1, 1, 9)
    TF32_TF32_F32 = DotAlgorithm("tf32", "tf32", "f32")
    TF32_TF32_F32_X3 = DotAlgorithm("tf32", "tf32", "f32", 1, 1, 3)
    F32_F32_F32 = DotAlgorithm("f32", "f32", "f32")
    F64_F64_F64 = DotAlgorithm("f64", "f64", "f64")

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


PrecisionLike: TypeAlias = (
    str
    | Precision
    | tuple[str, str]
    | tuple[Precision, Precision]
    | DotAlgorithm
    | DotAlgorithmPreset
    | None
)

_default = config.declare(
    "default_matmul_precision",
    (None, *_MEANING),
    None,
    "How exactly products are computed where nothing else is said, as `lax.Precision` has it.",
    NumbersOption,
)


def default_matmul_precision(new_val: str | Precision | None) -> ReusableContext:
    """Set `config.default_matmul_precision` for the block of a `with`, in this thread only.

    Arguments:
        new_val: the precision of products that do not specify their own: a `lax.Precision`, one of
            its names, or None.

    Raises:
        ValueError: it is anything else.

    >>> with glassjax.default_matmul_precision("highest"):
    ...     print(glassjax.make_jaxpr(jnp.dot)(jnp.ones(2), jnp.ones(2)).eqns[0])
    a:f32[] = dot_general[
      dimension_numbers=(([0], [0]), ([], []))
      precision=(Precision.HIGHEST, Precision.HIGHEST)
      preferred_element_type=float32
    ] b c
    """
    if new_val is not None:
        new_val = precision_of("default_matmul_precision", new_val)[0].name.lower()
    return _default.for_block(new_val)


def precision_of(caller: str, precision: Any) -> tuple[Precision, Precision]:
    """The precision of either operand.

    Raises:
        ValueError: `precision` is not one.
    """
    both = precision if isinstance(precision, tuple) and len(precision) == 2 else (precision,) * 2
    try:
        if not all(one is None or isinstance(one, str | Precision) for one in both):
            raise ValueError  # the enum itself would accept its ints, too
        first, second = (Precision.DEFAULT if one is None else Precision(one) for one in both)
    except ValueError:
        names = ", ".join(map(repr, _MEANING))
        raise ValueError(
            f"{caller}: precision must be None, a lax.Precision, one of {names}, or a pair of "
            f"these, found {shown(precision)}"
        ) from None
    return first, second


def attributes_of(caller: str, precision: PrecisionLike) -> dict[str, str]:
    """Write the precision of a product as MLIR attributes; empty for the default."""
    if precision is None:
        precision = _default.value
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        precision = DotAlgorithmPreset[precision]
    if isinstance(precision, DotAlgorithmPreset):
        precision = precision.value
    if precision is None:
        return {}
    if isinstance(precision, DotAlgorithm):
        return {"algorithm": _algorithm_text(precision)}
    first, second = precision_of(caller, precision)
    return {"precision": f"[{first}, {second}]"}


def _algorithm_text(algorithm: DotAlgorithm) -> str:
    def attribute_value(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return str(value) if isinstance(value, int | str) else element_type(np.dtype(value))

    fields = ", ".join(
        f"{name} = {attribute_value(value)}" for name, value in algorithm._asdict().items()
    )
    return f"<{fields}>"
