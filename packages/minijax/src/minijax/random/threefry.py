"""Threefry-2x32: a cipher whose key and block are 64 bits each, as two 32-bit words.

Encrypting 0, 1, 2, ... under a key gives random bits, or new keys, each independently: there is no
state. (J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011; 20 rounds.)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minijax.primitives.declare import declare
from minijax.primitives.sharding_rules import by_elements
from minijax.settings.key_dtype import key_dtype
from minijax_stage2 import Primitive, ShapedArray, bind1
from minijax_stage2.primitives import spread_shape
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature

Avals = Sequence[ShapedArray]

UINT32 = np.dtype(np.uint32)
UINT64 = np.dtype(np.uint64)

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA

threefry2x32_p = Primitive("threefry2x32")


def threefry2x32(key: Any, count: Any, dtype: np.dtype[Any]) -> Any:
    """Encrypt each element of `count` under the element of `key`.

    Arguments:
        key: an array of keys, or one for all.
        count: an array of uint64.
        dtype: the dtype of the result: keys; uint64, whose high half is the first word; or narrower
            bits, those of the first word xor the second.
    """
    return bind1(threefry2x32_p, key, count, dtype=np.dtype(dtype))


def _type_of_hash(key: ShapedArray, count: ShapedArray, *, dtype: np.dtype[Any]) -> Avals:
    if key.dtype != key_dtype or count.dtype != UINT64:
        raise TypeError(f"threefry2x32: expected keys and uint64, found {key} and {count}")
    if dtype != key_dtype and dtype.kind != "u":
        raise TypeError(f"threefry2x32: the result is keys or unsigned integers, found {dtype}")
    return [ShapedArray(spread_shape(threefry2x32_p, key, count), dtype)]


class _Words:
    """Writes arithmetic on arrays of 32-bit words, all of one shape."""

    def __init__(self, b: FunctionBuilder, shape: tuple[int, ...]):
        self.b = b
        self.words = ShapedArray(shape, UINT32)
        self.pairs = ShapedArray(shape, UINT64)

    def apply(self, operation: str, *operands: Value) -> Value:
        names = ", ".join(x.name for x in operands)
        aval = operands[0].aval
        (out,) = self.b.emit(f"stablehlo.{operation} {names} : {mlir_type(aval)}", aval)
        return out

    def constant(self, value: int, aval: ShapedArray | None = None) -> Value:
        return self.b.constant(value, aval or self.words)

    def convert(self, x: Value, aval: ShapedArray) -> Value:
        return self.b.emit(f"stablehlo.convert {x.name} : {signature([x], [aval])}", aval)[0]

    def rotate_left(self, x: Value, bits: int) -> Value:
        left = self.apply("shift_left", x, self.constant(bits))
        right = self.apply("shift_right_logical", x, self.constant(32 - bits))
        return self.apply("or", left, right)

    def halves(self, pair: Value) -> tuple[Value, Value]:
        """The high and the low word of numbers of 64 bits."""
        high = self.apply("shift_right_logical", pair, self.constant(32, self.pairs))
        return self.convert(high, self.words), self.convert(pair, self.words)

    def joined(self, high: Value, low: Value) -> Value:
        shifted = self.apply(
            "shift_left", self.convert(high, self.pairs), self.constant(32, self.pairs)
        )
        return self.apply("or", shifted, self.convert(low, self.pairs))

    def rounds(self, key: tuple[Value, Value], text: tuple[Value, Value]) -> tuple[Value, Value]:
        last = self.apply("xor", self.apply("xor", *key), self.constant(PARITY))
        schedule = [*key, last]
        x, y = (self.apply("add", word, k) for word, k in zip(text, key, strict=True))
        for i in range(5):
            for rotation in ROTATIONS[i % 2]:
                x = self.apply("add", x, y)
                y = self.apply("xor", x, self.rotate_left(y, rotation))
            x = self.apply("add", x, schedule[(i + 1) % 3])
            y = self.apply("add", y, schedule[(i + 2) % 3])
            y = self.apply("add", y, self.constant(i + 1))
        return x, y


def _lower_hash(
    b: FunctionBuilder, out_avals: Avals, key: Value, count: Value, *, dtype: np.dtype[Any]
) -> list[Value]:
    """A call of the function with the rounds, which each module contains once.

    The result passes a barrier, so that XLA computes the rounds once, in a separate loop. Their
    operations are so cheap that XLA would fuse a copy of them into each use of the result; if that
    is the next hash, which uses its key in every fifth operation, the copies of copies are too many
    to compile. Writing the rounds as a loop prevents that too, but moves each round's words through
    memory.
    """
    (out,) = out_avals

    def write(b: FunctionBuilder, key: Value, count: Value) -> list[Value]:
        write = _Words(b, out.shape)
        key, count = (b.spread(x, out.shape) for x in (key, count))
        first, second = write.rounds(write.halves(key), write.halves(count))
        if out.dtype in (UINT64, key_dtype):
            bits = write.joined(first, second)._replace(aval=out)
        else:
            bits = write.convert(write.apply("xor", first, second), out)
        return b.emit(f"stablehlo.optimization_barrier {bits.name} : {mlir_type(out)}", out)

    name = b.module.written_function(f"threefry2x32_{out}", (key.aval, count.aval), write)
    return b.emit(
        f"func.call @{name}({key.name}, {count.name}) : {signature([key, count], out_avals)}", out
    )


declare(
    threefry2x32_p,
    abstract_eval=_type_of_hash,
    lower=_lower_hash,
    vmap=elementwise(threefry2x32_p),
    sharding=by_elements(threefry2x32_p),
)
