"""Examples for each primitive of stages 2 to 4, on which the laws of every stage are tried."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glassjax_stage2 import Primitive, bind, float0
from glassjax_stage2 import primitives as p

ALL_PRIMITIVES = [x for x in vars(p).values() if isinstance(x, Primitive)]


@dataclass
class Spec:
    """The shape and dtype of an operand; `python` for a Python number, which has no dtype."""

    shape: tuple[int, ...] = ()
    dtype: Any = np.float64
    python: bool = False

    def draw(self, rng):
        if self.dtype == np.bool_:
            return rng.random(self.shape) < 0.5
        x = rng.uniform(0.5, 2.0, self.shape)
        if np.dtype(self.dtype).kind == "c":
            x = x + 1j * rng.uniform(0.5, 2.0, self.shape)
        elif np.dtype(self.dtype).kind in "iu":
            x = rng.integers(1, 5, self.shape)
        if self.python:
            return float(x)
        return np.asarray(x, self.dtype)[()]


@dataclass
class Example:
    primitive: Primitive
    specs: tuple[Spec, ...]
    params: dict[str, Any] = field(default_factory=dict)

    def __str__(self):
        operands = ",".join(
            "python" if s.python else f"{np.dtype(s.dtype).name}{list(s.shape)}" for s in self.specs
        )
        return f"{self.primitive}-{operands}" + "".join(f"-{v}" for v in self.params.values())

    def draw(self, seed=0):
        rng = np.random.default_rng([seed, *map(ord, self.primitive.name)])
        return tuple(spec.draw(rng) for spec in self.specs)

    def __call__(self, *args):
        (out,) = bind(self.primitive, *args, **self.params)
        return out


def elementwise(primitive, count, dtypes):
    for dtype in dtypes:
        for shape in ((), (3,), (2, 3), (0,)):
            yield Example(primitive, (Spec(shape, dtype),) * count)
    yield Example(primitive, (Spec(python=True),) * count)
    if count == 2:
        yield Example(primitive, (Spec((2, 1)), Spec((1, 3))))
        yield Example(primitive, (Spec((2, 3)), Spec((2, 1))))
        for scalar in (Spec(), Spec(python=True)):
            yield Example(primitive, (scalar, Spec((2, 3))))
            yield Example(primitive, (Spec((2, 3)), scalar))


def examples(primitive):
    f64, f32, c128, i32, i64 = np.float64, np.float32, np.complex128, np.int32, np.int64
    if primitive in p.UNARY:
        integers = (i32,) if primitive is p.neg_p else ()
        return elementwise(primitive, 1, (f64, f32, c128, *integers))
    if primitive in p.ARITHMETIC:
        return elementwise(primitive, 2, (f64, f32, c128, i32))
    if primitive in p.COMPARISONS:
        return elementwise(primitive, 2, (f64, f32, i64))
    if primitive is p.select_n_p:
        operands = [
            (Spec(a, np.bool_), Spec(b), Spec(c))
            for a in ((), (2, 3))
            for b in ((), (2, 3))
            for c in ((), (2, 3))
        ]
        return [Example(primitive, specs) for specs in operands]
    if primitive is p.convert_element_type_p:
        pairs = [(f64, f32), (f32, f64), (f64, i32), (i32, f32), (f32, np.complex64), (i64, bool)]
        return [
            Example(primitive, (Spec(shape, old),), {"new_dtype": np.dtype(new)})
            for old, new in pairs
            for shape in ((), (2, 3))
        ]
    if primitive is p.reduce_sum_p:
        cases = [((3,), (0,)), ((2, 3), (0, 1)), ((2, 3, 4), (1,)), ((2, 3, 4), (2, 0))]
        cases += [((2, 3), ()), ((0, 3), (0,)), ((), ())]
        return [
            Example(primitive, (Spec(shape, dtype),), {"axes": axes})
            for shape, axes in cases
            for dtype in (f64, f32, c128, i32)
        ]
    if primitive is p.transpose_p:
        cases = [((2, 3), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (0, 2, 1)), ((0, 2), (1, 0))]
        return [
            Example(primitive, (Spec(shape, dtype),), {"permutation": permutation})
            for shape, permutation in cases
            for dtype in (f64, i32)
        ]
    if primitive is p.reshape_p:
        cases = [((), (1,)), ((1,), ()), ((2, 3), (3, 2)), ((2, 3), (6,)), ((0,), (2, 0))]
        return [
            Example(primitive, (Spec(shape, dtype),), {"new_sizes": sizes})
            for shape, sizes in cases
            for dtype in (f64, i32)
        ]
    if primitive is p.broadcast_in_dim_p:
        cases = [((), (2, 3), ()), ((3,), (2, 3), (1,)), ((2,), (2, 3), (0,))]
        cases += [((1, 3), (2, 3), (0, 1)), ((2, 4), (2, 3, 4), (0, 2)), ((), (0,), ())]
        return [
            Example(
                primitive,
                (Spec(shape, dtype),),
                {"shape": new, "broadcast_dimensions": axes},
            )
            for shape, new, axes in cases
            for dtype in (f64, i32)
        ]
    if primitive is p.dot_general_p:
        cases = [
            ((3,), (3,), (((0,), (0,)), ((), ()))),
            ((2, 3), (3,), (((1,), (0,)), ((), ()))),
            ((3,), (4, 3), (((0,), (1,)), ((), ()))),
            ((2, 3), (3, 4), (((1,), (0,)), ((), ()))),
            ((2, 3), (2, 4), (((0,), (0,)), ((), ()))),
            ((2,), (3,), (((), ()), ((), ()))),
            ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))),
            ((2, 5, 3), (3, 4, 5), (((2,), (0,)), ((1,), (2,)))),
            ((2, 3, 4), (4, 3), (((1, 2), (1, 0)), ((), ()))),
            ((2, 0), (0, 3), (((1,), (0,)), ((), ()))),
        ]
        dtypes = (f64, f32, c128, i32)
        return [
            Example(primitive, (Spec(a, dtype), Spec(b, dtype)), {"dimension_numbers": numbers})
            for (a, b, numbers), dtype in zip(cases, itertools.cycle(dtypes), strict=False)
        ]
    raise AssertionError(f"the law has no examples for {primitive}")


EXAMPLES = [example for primitive in ALL_PRIMITIVES for example in examples(primitive)]


def is_inexact(x):
    return np.result_type(x).kind in "fc"


def tangents_for(args, seed):
    rng = np.random.default_rng(seed)

    def draw(x):
        if not is_inexact(x):
            return np.zeros(np.shape(x), float0)
        t = rng.normal(size=np.shape(x))
        return t.item() if isinstance(x, float) and not isinstance(x, np.generic) else cast(t, x)

    return tuple(map(draw, args))


def cast(t, x):
    return np.asarray(t, np.result_type(x))[()]


def is_close(x, y, tolerance=None):
    assert np.shape(x) == np.shape(y)
    assert np.result_type(x) == np.result_type(y)
    narrow = np.result_type(x) in (np.float32, np.complex64)
    tolerance = tolerance or (1e-5 if narrow else 1e-12)
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
