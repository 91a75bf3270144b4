"""Random well-typed programs over the primitives of the stages, as data.

A program is a list of steps, each the name of an operation and the values that it takes: the
inputs first, then the results of the steps before it. Intervals are carried along, so that
numbers stay tame: no logarithm or reciprocal near 0, no exponential of large numbers.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

LARGEST = 8.0  # no value is larger than this
MOST_ELEMENTS = 12


@dataclass(frozen=True)
class Step:
    op: str
    args: tuple[int, ...]
    params: dict[str, Any] = field(default_factory=dict)

    def __repr__(self):
        operands = [f"v{i}" for i in self.args] + [f"{k}={v!r}" for k, v in self.params.items()]
        return f"{self.op}({', '.join(operands)})"


@dataclass(frozen=True)
class Program:
    in_types: tuple[tuple[tuple[int, ...], str], ...]
    steps: tuple[Step, ...]
    outs: tuple[int, ...]
    seed: int

    def inputs(self):
        """Multiples of 1/8 between -1 and 1, so that some of them are equal."""
        rng = np.random.default_rng(self.seed)
        return [
            np.asarray(rng.integers(-8, 9, shape) / 8, dtype)[()] for shape, dtype in self.in_types
        ]

    @property
    def is_narrow(self):
        """Whether somewhere only 32 bits are carried."""
        dtypes = {dtype for _, dtype in self.in_types}
        return "float32" in dtypes | {step.params.get("dtype") for step in self.steps}

    def __repr__(self):
        lines = [f"v{i}: {dtype}{list(shape)}" for i, (shape, dtype) in enumerate(self.in_types)]
        lines += [f"v{i} = {step}" for i, step in enumerate(self.steps, start=len(lines))]
        outs = ", ".join(f"v{i}" for i in self.outs)
        return "\n".join([f"program of seed {self.seed}", *lines, f"return {outs}"])


def run(program, library, inputs):
    """The results of `program` on `inputs`, computed by the functions of `library`."""
    values = list(inputs)
    for step in program.steps:
        operands = [values[i] for i in step.args]
        values.append(getattr(library, step.op)(*operands, *step.params.values()))
    return [values[i] for i in program.outs]


@dataclass(frozen=True)
class Value:
    """What is known of a value while a program is drawn.

    It is exact where no rounding happened on the way: a sum of few multiples of 1/8. Only what
    is exact is compared, for it decides the same in every library.
    """

    shape: tuple[int, ...]
    dtype: str
    low: float = -1.0
    high: float = 1.0
    exact: bool = True


UNARY = ("neg", "sin", "cos", "exp", "log", "reciprocal")
OPERATIONS = (
    "mul",
    "sin",
    "select",
    "dot",
    "reduce_sum",
    "log",
    "broadcast_to",
    "exp",
    "add",
    "convert",
    "reciprocal",
    "cond",
    "transpose",
    "cos",
    "reshape",
    "neg",
)

shapes = st.sampled_from([(3,), (2,), (2, 3), (), (3, 2), (1, 3), (2, 2)])
float_dtypes = st.sampled_from(["float64", "float32"])


@st.composite
def programs(draw, max_steps=6, operations=OPERATIONS):
    """Programs from one or two floating-point arrays to such arrays."""
    dtype = draw(float_dtypes)
    in_types = [(shape, dtype) for shape in draw(st.lists(shapes, min_size=1, max_size=2))]
    drawing = Drawing(draw, [Value(*each) for each in in_types])
    for op in draw(st.permutations(operations))[: draw(st.integers(4, max_steps))]:
        drawing.add_step(op)
    last = len(drawing.values) - 1
    outs = [last]
    if draw(st.booleans()):
        outs.append(drawing.choose())
    seed = draw(st.integers(0, 999))
    return Program(tuple(in_types), tuple(drawing.steps), tuple(outs), seed)


class Drawing:
    """A program half drawn. It adds the steps asked for, and those that keep them tame."""

    def __init__(self, draw, values):
        self.draw = draw
        self.values = values
        self.steps = []

    def add_step(self, op):
        """Adds a step of `op`, whose result is a float and the last value."""
        if op in UNARY:
            self.unary(op, self.choose())
        elif op in ("add", "mul"):
            x = self.choose()
            self.arithmetic(op, x, self.choose_like(self.values[x].shape))
        else:
            getattr(self, op)()

    def record(self, op, args, value, **params):
        self.steps.append(Step(op, tuple(args), params))
        self.values.append(value)
        return len(self.values) - 1

    def choose(self, fits=lambda value: True):
        """A float that fits, the latest ones first; or a sum, for a scalar always does."""
        numbers = [i for i, v in enumerate(self.values) if v.dtype != "bool" and fits(v)]
        if not numbers:
            return self.sum(0, range(len(self.values[0].shape)))
        return self.draw(st.sampled_from(numbers[::-1]))

    def choose_like(self, shape):
        """A float that broadcasts with `shape` to something small."""
        return self.choose(lambda v: v.shape in ((), shape) or broadcasts(v.shape, shape))

    def unary(self, op, i):
        x = self.values[i]
        if op in ("log", "reciprocal") and x.low < 0.5:
            x = self.values[i := self.shift(i, 1.0 - x.low)]
        elif op == "exp" and x.high > 1.5:
            x = self.values[i := self.shift(i, 1.5 - x.high)]
        bounds = {
            "neg": lambda: (-x.high, -x.low),
            "sin": lambda: (-1.0, 1.0),
            "cos": lambda: (-1.0, 1.0),
            "exp": lambda: (math.exp(x.low), math.exp(x.high)),
            "log": lambda: (math.log(x.low), math.log(x.high)),
            "reciprocal": lambda: (1 / x.high, 1 / x.low),
        }[op]()
        self.record(op, [i], Value(x.shape, x.dtype, *bounds, x.exact and op == "neg"))

    def shift(self, i, by):
        """Adds a Python number, which changes no dtype."""
        x = self.values[i]
        value = Value(x.shape, x.dtype, x.low + by, x.high + by, exact=False)
        return self.record("shift", [i], value, by=by)

    def arithmetic(self, op, i, j):
        (i, x), (j, y) = self.at_most(i, LARGEST / 3), self.at_most(j, LARGEST / 3)
        low, high = interval(op, x, y)
        shape = np.broadcast_shapes(x.shape, y.shape)
        self.record(op, [i, j], Value(shape, wider(x, y), low, high, exact=False))

    def at_most(self, i, bound):
        """The value, or its sine where it may be larger than `bound`."""
        if max(-self.values[i].low, self.values[i].high) > bound:
            self.unary("sin", i)
            i = len(self.values) - 1
        return i, self.values[i]

    def dot(self):
        if not any(v.shape for v in self.values):
            self.broadcast_to()
        i, x = self.at_most(self.choose(lambda v: v.shape), 1.6)
        inner = x.shape[-1]
        fitting = [
            k
            for k, v in enumerate(self.values)
            if v.dtype != "bool"
            and v.shape
            and v.shape[max(len(v.shape) - 2, 0)] == inner
            and len(v.shape) <= 2
            and len(x.shape) <= 2
        ]
        if fitting:
            j, y = self.at_most(self.draw(st.sampled_from(fitting[::-1])), 1.6)
        else:  # its own transpose always fits, where the first is not too deep
            order = tuple(range(len(x.shape)))[:-2] + tuple(range(len(x.shape)))[-2:][::-1]
            y = Value(tuple(x.shape[a] for a in order), x.dtype, x.low, x.high, x.exact)
            j = self.record("transpose", [i], y, permutation=order)
        low, high = interval("mul", x, y)
        shape = np.matmul(np.zeros(x.shape), np.zeros(y.shape)).shape
        value = Value(shape, wider(x, y), inner * low, inner * high, exact=False)
        self.record("dot", [i, j], value)

    def comparison(self):
        """A comparison of exact values, whose outcome no rounding decides."""
        i = self.choose(lambda v: v.exact)
        j = self.choose(lambda v: v.exact and broadcasts(v.shape, self.values[i].shape))
        op = self.draw(st.sampled_from(["gt", "lt", "ge", "le", "eq", "ne"]))
        shape = np.broadcast_shapes(self.values[i].shape, self.values[j].shape)
        return self.record(op, [i, j], Value(shape, "bool", 0.0, 1.0))

    def select(self):
        which = self.comparison()
        i = self.choose_like(self.values[which].shape)
        x = self.values[i]
        shape = np.broadcast_shapes(self.values[which].shape, x.shape)
        j = self.choose_like(shape)
        y = self.values[j]
        low, high = min(x.low, y.low), max(x.high, y.high)
        shape = np.broadcast_shapes(shape, y.shape)
        value = Value(shape, wider(x, y), low, high, x.exact and y.exact)
        self.record("select", [which, i, j], value)

    def cond(self):
        """One of two functions of two operands, by the sign of an exact sum."""
        i = self.choose(lambda v: v.exact)
        i = self.sum(i, range(len(self.values[i].shape)))
        j = self.choose()
        x = self.values[j]
        k = self.choose(lambda v: v.shape == x.shape and v.dtype == x.dtype)
        y = self.values[k]
        bound = max(-x.low, x.high, -y.low, y.high)
        value = Value(x.shape, x.dtype, -bound, bound, exact=False)
        self.record("cond", [i, j, k], value)

    def convert(self):
        i = self.comparison() if self.draw(st.booleans()) else self.choose()
        x, dtype = self.values[i], self.draw(float_dtypes)
        value = Value(x.shape, dtype, x.low, x.high, x.exact)
        self.record("convert", [i], value, dtype=dtype)

    def reduce_sum(self):
        i = self.choose()
        axes = range(len(self.values[i].shape))
        self.sum(i, [a for a in axes if self.draw(st.booleans())])

    def sum(self, i, axes):
        count = math.prod(self.values[i].shape[a] for a in axes)
        i, x = self.at_most(i, LARGEST / count)
        shape = tuple(n for a, n in enumerate(x.shape) if a not in axes)
        value = Value(shape, x.dtype, count * x.low, count * x.high, x.exact)
        return self.record("reduce_sum", [i], value, axis=tuple(axes))

    def transpose(self):
        i = self.choose()
        x = self.values[i]
        order = tuple(self.draw(st.permutations(range(len(x.shape)))))
        self.record(
            "transpose", [i], self.reshaped(x, [x.shape[a] for a in order]), permutation=order
        )

    def reshape(self):
        i = self.choose()
        x = self.values[i]
        size = math.prod(x.shape)
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        rows = self.draw(st.sampled_from(divisors))
        shape = self.draw(st.sampled_from([(size,), (rows, size // rows), (1, rows, size // rows)]))
        self.record("reshape", [i], self.reshaped(x, shape), shape=shape)

    def broadcast_to(self):
        i = self.choose(lambda v: 2 * math.prod(v.shape) <= MOST_ELEMENTS and len(v.shape) < 3)
        x = self.values[i]
        shape = (2, *x.shape) if self.draw(st.booleans()) else (2, *(max(n, 2) for n in x.shape))
        shape = shape if math.prod(shape) <= MOST_ELEMENTS else (2, *x.shape)
        self.record("broadcast_to", [i], self.reshaped(x, shape), shape=shape)

    def reshaped(self, x, shape):
        return Value(tuple(shape), x.dtype, x.low, x.high, x.exact)


def interval(op, x, y):
    """Between which numbers the result lies."""
    if op == "add":
        return x.low + y.low, x.high + y.high
    corners = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
    return min(corners), max(corners)


def wider(x, y):
    return "float64" if "float64" in (x.dtype, y.dtype) else "float32"


def broadcasts(a, b):
    try:
        shape = np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return len(shape) <= 3 and math.prod(shape) <= MOST_ELEMENTS
