"""The laws of primitives: every primitive has every rule, and every rule is right.

Each primitive brings examples; each law is tried on all of them. What the laws of a primitive want
computed is one program, so that it is compiled once. At night the same is computed operation by
operation, too.
"""

import functools
import inspect
import itertools
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import examples_elementwise
import examples_indexing
import examples_structured
import numpy as np
import pytest
from shares import IS_NIGHT

import glassjax.numpy as jnp
import glassjax.scipy.special  # noqa: F401  # declares primitives
from glassjax import (
    P,
    ShapeDtypeStruct,
    core,
    eval_shape,
    export,
    jit,
    jvp,
    linear_transpose,
    make_jaxpr,
    sharding,
    tree,
    typeof,
    vjp,
    vmap,
)
from glassjax.core import (
    Primitive,
    ShapedArray,
    abstract_eval_rules,
    bind,
    impl_rules,
    jvp_rules,
    lowering_rules,
    transpose_rules,
    typecheck_jaxpr,
    vmap_rules,
)
from glassjax.experimental import sparse_jacobian
from glassjax.lax.primitive_names import all_primitives
from glassjax.runtime import lowering
from glassjax_stage2 import primitives as stage2_primitives
from glassjax_stage4 import stop_gradient_p
from glassjax_stage4.cond import cond_p

F64, F32, C128, C64, I32, U8, BOOL = map(
    np.dtype, ("float64", "float32", "complex128", "complex64", "int32", "uint8", "bool")
)
DTYPES = (F64, F32, C128, I32, U8, BOOL)
BATCH = 2

# Keys cannot be drawn like numbers, nor differentiated: test_random.py has the laws of these.
OF_KEYS = {
    *("threefry2x32", "random_seed", "random_split", "random_fold_in", "random_bits"),
    *("random_wrap", "random_unwrap", "random_gamma"),
}
# Nor do these mean anything without the name of an axis, or a mesh: their laws are in
# tests/lax/test_collectives.py, and test_shard_map.py and test_unreduced.py of
# tests/devices/sharding.
OF_AXES = {
    *("psum", "pmax", "pmin", "all_gather", "all_gather_invariant"),
    *("reduce_scatter", "all_to_all", "ppermute"),
    *("axis_index", "pvary", "shard_map"),
    *("all_gather_reduced", "preduced", "reduced_vary_cast", "unreduced_psum"),
    *("unreduced_reduce_scatter", "vary_unreduced_cast"),
}
# Nor does this mean the same on each platform: tests/runtime/test_platforms.py.
OF_PLATFORMS = {"platform_index"}
# Nor do symbolic sizes have values outside a program: tests/export/test_symbolic_sizes.py.
OF_SIZES = {"dim_as_value"}
UNSTEADY = {"rng_uniform"}  # other numbers each time: lax/test_random_bits.py
# Nor do these take or give numbers: tests/lax/test_barriers.py.
OF_TOKENS = {"create_token", "after_all"}
OF_STAGES = {x for x in vars(stage2_primitives).values() if isinstance(x, Primitive)}
OF_STAGES |= {cond_p, stop_gradient_p}  # of which the laws of the stages are
primitives = [
    p
    for p in all_primitives()
    if p not in OF_STAGES
    and p.name not in OF_KEYS | OF_AXES | OF_PLATFORMS | OF_TOKENS | OF_SIZES | UNSTEADY
]

# What numpy calls the elementwise primitives; the others are in `examples` below.
UNARY = {
    **examples_elementwise.UNARY,
    "real": np.real,
    "imag": np.imag,
    "conj": np.conj,
    "copy": np.copy,
}
BINARY = {**examples_elementwise.BINARY, "complex": lambda x, y: x + 1j * y}
REDUCTIONS = {
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_and": np.bitwise_and.reduce,
    "reduce_or": np.bitwise_or.reduce,
    "reduce_xor": np.bitwise_xor.reduce,
    "reduce_prod": np.prod,
}
NOT_SMOOTH = {*examples_elementwise.NOT_SMOOTH, *examples_structured.NOT_SMOOTH}


@dataclass(eq=False)
class Example:
    """A primitive, the types of its operands, and its parameters."""

    primitive: Primitive
    avals: tuple[ShapedArray, ...]
    params: dict[str, Any] = field(default_factory=dict)
    held: tuple[Any, ...] = ()  # operands before those, by which it has no derivative
    function: Callable[..., Any] | None = None  # in whose program the primitive stands

    def __str__(self):
        operands = ",".join(map(str, self.avals))
        return f"{self.primitive}-{operands}" + "".join(f"-{v}" for v in self.params.values())

    def draw(self, seed=0):
        rng = np.random.default_rng([seed, *map(ord, self.primitive.name)])
        bounds = examples_elementwise.RANGES.get(self.primitive.name, (0.5, 1.5))
        each = bounds if isinstance(bounds[0], tuple) else [bounds] * len(self.avals)
        drawn = zip(self.avals, each, strict=True)
        return tuple(draw(rng, aval, *low_and_high) for aval, low_and_high in drawn)

    def __call__(self, *args):
        if self.function is not None:
            return self.function(*args)
        held = [np.asarray(x, typeof(args[0]).dtype)[()] for x in self.held]
        (out,) = bind(self.primitive, *held, *args, **self.params)
        return out

    @property
    def is_smooth(self):
        is_real = any(aval.dtype.kind in "fc" for aval in self.avals)
        return is_real and self.primitive.name not in NOT_SMOOTH


def draw(rng, aval, low, high):
    match aval.dtype.kind:
        case "b":
            x = rng.random(aval.shape) < 0.5
        case "i" | "u":
            x = rng.integers(1, 5, aval.shape)
        case "c":
            x = rng.uniform(low, high, aval.shape) + 1j * rng.uniform(low, high, aval.shape)
        case _:
            x = rng.uniform(low, high, aval.shape)
    return np.asarray(x, aval.dtype)


def examples(primitive):
    """Examples of a primitive in those dtypes that its abstract evaluation accepts."""
    return [example for example in candidates(primitive) if accepts(primitive, example)]


def accepts(primitive, example):
    if example.function is not None:
        return True
    try:
        held = [ShapedArray((), example.avals[0].dtype) for _ in example.held]
        abstract_eval_rules[primitive](*held, *example.avals, **example.params)
    except TypeError:
        return False
    return True


def candidates(primitive):
    name = primitive.name
    if name in UNARY:
        yield from (Example(primitive, avals) for avals in of_every_type((2, 3)))
        yield from (Example(primitive, (ShapedArray(shape, F64),)) for shape in ((), (0,)))
    elif name in BINARY:
        yield from (Example(primitive, avals) for avals in of_every_type((2, 3), (2, 3)))
        for shapes in [((), ()), ((), (2, 3)), ((2, 3), ()), ((2, 1), (1, 3))]:
            yield Example(primitive, tuple(ShapedArray(shape, F64) for shape in shapes))
    elif name == "clamp":
        yield from (Example(primitive, avals) for avals in of_every_type((2, 3), (2, 3), (2, 3)))
        yield Example(primitive, tuple(ShapedArray(shape, F64) for shape in ((), (2, 3), ())))
    elif name in examples_elementwise.OTHERS:
        yield from (Example(primitive, (ShapedArray((2, 3), dtype),)) for dtype in (F64, F32))
    elif name in examples_elementwise.HELD:
        held = examples_elementwise.HELD[name]
        for dtype, shape in [(F64, (2, 3)), (F64, ()), (F32, (2, 3))]:
            yield Example(primitive, (ShapedArray(shape, dtype),), held=held)
    elif name in examples_elementwise.PARAMS:
        for avals, params in itertools.product(
            of_every_type((2, 3)), examples_elementwise.PARAMS[name]
        ):
            yield Example(primitive, avals, params)
    elif name == "bitcast_convert_type":
        for shape, old, new in examples_elementwise.BITCASTS:
            params = {"new_dtype": np.dtype(new)}
            yield Example(primitive, (ShapedArray(shape, old),), params)
    elif name in REDUCTIONS:
        for avals in of_every_type((2, 3)):
            yield Example(primitive, avals, {"axes": (1,)})
        for shape, axes in [((3,), (0,)), ((2, 3, 4), (2, 0)), ((2, 3), ()), ((), ())]:
            for dtype in (F64, BOOL):
                yield Example(primitive, (ShapedArray(shape, dtype),), {"axes": axes})
    elif name == "iota":
        for dtype, (shape, axis) in itertools.product((F32, I32), [((4,), 0), ((2, 3), 1)]):
            yield Example(primitive, (), {"dtype": dtype, "shape": shape, "dimension": axis})
    elif name == "slice":
        for shape, cuts in [
            ((5,), ((1,), (4,), (1,))),
            ((5,), ((1,), (5,), (3,))),
            ((3, 4), ((0, 1), (3, 1), (2, 1))),
            ((), ((), (), ())),
        ]:
            names = ("start_indices", "limit_indices", "strides")
            for dtype in (F64, C128, BOOL):
                params = dict(zip(names, cuts, strict=True))
                yield Example(primitive, (ShapedArray(shape, dtype),), params)
    elif name == "pad":
        for shape, config in [
            ((3,), ((1, 2, 0),)),
            ((3,), ((0, 1, 2),)),
            ((4,), ((-1, 2, 1),)),
            ((2, 3), ((1, -2, 0), (-4, 2, 0))),
            ((2, 0), ((1, 0, 1), (1, 1, 1))),
            ((), ()),
        ]:
            for dtype in (F64, C128, I32):
                avals = (ShapedArray(shape, dtype), ShapedArray((), dtype))
                yield Example(primitive, avals, {"padding_config": config})
    elif name == "todense":
        yield from (Example(primitive, avals) for avals in of_every_type((2, 3)))
    elif name == "name":
        yield from (Example(primitive, avals, {"name": "x"}) for avals in of_every_type((2, 3)))
    elif name == "concatenate":
        for shapes, axis in [([(2,), (3,), (0,)], 0), ([(2, 1), (2, 3)], 1), ([(2,)], 0)]:
            for dtype in (F64, C128, BOOL):
                avals = tuple(ShapedArray(shape, dtype) for shape in shapes)
                yield Example(primitive, avals, {"dimension": axis})
    for avals, params in examples_indexing.of(name):
        yield Example(primitive, avals, params)
    for function, shapes, dtype in examples_structured.of(name):
        avals = tuple(ShapedArray(shape, dtype) for shape in shapes)
        yield Example(primitive, avals, function=function)


def of_every_type(*shapes):
    return [tuple(ShapedArray(shape, dtype) for shape in shapes) for dtype in DTYPES]


EXAMPLES = [example for primitive in primitives for example in examples(primitive)]
SMOOTH = [example for example in EXAMPLES if example.is_smooth]


def widest(examples):
    """Of examples that differ in nothing but how wide their numbers are, the widest."""
    by_look = {}
    for example in examples:
        kinds = [(aval.shape, aval.dtype.kind) for aval in example.avals]
        look = str((example.primitive, kinds, example.params, example.held))
        width = sum(aval.dtype.itemsize for aval in example.avals)
        by_look.setdefault((look, example.function), []).append((width, example))
    return [max(alike, key=lambda pair: pair[0])[1] for alike in by_look.values()]


def first_of_each(examples, look):
    """The first of those examples that look the same."""
    return list({look(example): example for example in reversed(list(examples))}.values())[::-1]


def function_of(example):
    return example.primitive, example.function


def shapes_of(example):
    return tuple(aval.shape for aval in example.avals)


def dtypes_of(example):
    return tuple(aval.dtype for aval in example.avals)


def is_long(example):
    return example.primitive.name in examples_elementwise.LONG


ELEMENTWISE = {
    *(*UNARY, *BINARY, "clamp"),
    *(*examples_elementwise.OTHERS, *examples_elementwise.HELD, *examples_elementwise.PARAMS),
}


def is_elementwise(example):
    return example.primitive.name in ELEMENTWISE


def rule_of(example):
    """What is elementwise is evaluated, and batched, by the same rules."""
    if is_elementwise(example):
        return vmap_rules[example.primitive].__code__
    return function_of(example)


# What is evaluated operation by operation by day, too: one of each rule.
EVALUATED = first_of_each([e for e in widest(EXAMPLES) if not is_long(e)], rule_of)
# By day, derivatives and batches are tried of the widest numbers, and of what takes long to compile
# once; all that compiles nothing, and all other values, are tried of all examples. What is
# elementwise is as linear as a product, and its slopes have laws of their own: by day its
# derivatives are tried in one direction, and their derivatives and orders not at all.
COMPUTED = [e for e in EXAMPLES if not is_long(e)]
COMPUTED += first_of_each(filter(is_long, EXAMPLES), lambda e: (function_of(e), dtypes_of(e)))
BY_DAY = [
    e
    for e in widest(EXAMPLES)
    if not is_long(e) and ((2, 3) in shapes_of(e) or not is_elementwise(e))
]
BY_DAY += first_of_each(filter(is_long, widest(EXAMPLES)), function_of)
STRUCTURED = [e for e in widest(SMOOTH) if not (is_elementwise(e) or is_long(e))]
# No rule for batches asks what numbers there are.
OF_EACH_SHAPE = first_of_each(
    widest(e for e in EXAMPLES if not is_long(e)),
    lambda e: (rule_of(e), shapes_of(e), str(e.params)),
)

LAWS = defaultdict(list)  # by primitive: each law, and the examples on which it is tried by day


def law(examples, by_day=None):
    """Make a test of each primitive of a law, which is stated about one example.

    The statement yields calls, each a function and its operands, is sent what they give, and judges
    that. Where there is nothing to compute, it is a function. Of `examples`, those that are not
    among `by_day` are tried at night.
    """

    def of_statement(statement):
        chosen = defaultdict(list)
        for example in examples:
            chosen[example.primitive].append(example)
        for primitive in chosen:
            LAWS[primitive].append((statement, chosen[primitive], set(by_day or examples)))

        @pytest.mark.parametrize("primitive", chosen, ids=str, scope="module")
        def test(primitive):
            if errors := broken(primitive)[statement]:
                raise ExceptionGroup(f"{statement.__name__}: {len(errors)} examples", errors)

        test.__name__, test.__doc__ = statement.__name__, statement.__doc__
        return test

    return of_statement


class Trial:
    """A law that is tried on an example."""

    def __init__(self, statement, example):
        self.statement, self.example = statement, example
        self.calls, self.judge = [], None
        self.error = self._advance(self._begin)

    def _begin(self):
        judge = self.statement(self.example)
        if inspect.isgenerator(judge):
            self.calls, self.judge = next(judge), judge

    def _advance(self, step):
        try:
            step()
        except StopIteration:
            return None
        except Exception as error:
            error.add_note(f"example {self.example}")
            return error

    def judged(self, results):
        """The error of the law, given what its calls give; None if it holds."""
        if self.judge is None:
            return self.error
        errors = [result for result in results if isinstance(result, Exception)]
        if errors:
            return self._advance(lambda: self.judge.throw(errors[0]))
        return self._advance(lambda: self.judge.send(results))


def trials(primitive, at_night=False):
    return [
        Trial(statement, example)
        for statement, examples, by_day in LAWS[primitive]
        for example in examples
        if at_night or example in by_day
    ]


@functools.cache
def broken(primitive):
    """By law, the errors of a primitive's examples. One program computes what the laws judge."""
    errors = defaultdict(list)
    begun = trials(primitive)
    results = iter(together([call for trial in begun for call in trial.calls]))
    for trial in begun:
        error = trial.judged([next(results) for _ in trial.calls])
        if error is not None:
            again = Trial(trial.statement, trial.example)
            is_broken = again.judged([by_itself(call) for call in again.calls]) is not None
            error.add_note("so it is by itself" if is_broken else "not by itself")
            errors[trial.statement].append(error)
    return errors


def by_itself(call):
    """What a function gives for its operands, or its error."""
    function, *operands = call
    try:
        return function(*operands)
    except Exception as error:
        return error


def together(calls):
    """What each of the calls gives, computed by one program, or their errors.

    The program applies all functions of operands of one type to the same operands, and is run for
    each of these: such functions have much in common, which is compiled once.
    """
    families = defaultdict(lambda: ({}, {}))  # by the types of operands: these, and the functions
    for function, *operands in calls:
        points, functions = families[tuple((x.shape, x.dtype) for x in operands)]
        points[contents(operands)] = operands
        functions[function] = None

    @jit
    def program(operands):
        return [
            [None if isinstance(x := by_itself((f, *xs)), Exception) else x for f in functions]
            for (_, functions), xs in zip(families.values(), operands, strict=True)
        ]

    found = {}
    for run in range(max(len(points) for points, _ in families.values())):
        point = [list(points.items())[run % len(points)] for points, _ in families.values()]
        try:
            results = program([operands for _, operands in point])
        except Exception:  # of one of the functions, lowered or compiled
            return [by_itself((jit(function), *operands)) for function, *operands in calls]
        for (_, functions), (drawn, _), of_family in zip(
            families.values(), point, results, strict=True
        ):
            found |= {(f, drawn): x for f, x in zip(functions, of_family, strict=True)}
    results = [found[function, contents(operands)] for function, *operands in calls]
    return [
        by_itself(call) if result is None else result
        for call, result in zip(calls, results, strict=True)
    ]


def contents(operands):
    return tuple((x.shape, x.dtype, x.tobytes()) for x in operands)


def tangents_for(args, seed):
    rng = np.random.default_rng(seed)
    return tuple(
        np.asarray(rng.normal(size=x.shape), x.dtype)
        if x.dtype.kind == "f"
        else np.asarray(rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape), x.dtype)
        if x.dtype.kind == "c"
        else np.zeros(x.shape, [("float0", np.void, 0)])
        for x in args
    )


def cotangent_for(example):
    (ct,) = tangents_for([eval_shape(example, *example.draw())], seed=2)
    return ct


def is_inexact(x):
    return x.dtype.kind in "fc"


def moved(args, h, tangents):
    """The arguments, moved along their tangents; integers stay what they are."""
    return [x + h * t if is_inexact(x) else x for x, t in zip(args, tangents, strict=True)]


def is_close(x, y, tolerance=None):
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    assert x.dtype == y.dtype
    if x.dtype.kind == "V":  # no number
        return
    tolerance = tolerance or (1e-5 if x.dtype in (F32, C64) else 1e-12)
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def test_primitives_that_hold_programs_say_in_every_column_what_is_done_with_them():
    columns = (
        *(impl_rules, lowering_rules, jvp_rules, vmap_rules),
        *(core.partial_eval_rules, core.dce_rules, core.dependence_rules),
        *(core.order_rules, core.key_rules, core.step_rules),
    )
    holding = [primitive for primitive in all_primitives() if primitive.higher_order]
    missing = [
        f"{primitive}: {rules.table}"
        for primitive, rules in itertools.product(holding, columns)
        if primitive not in rules
    ]
    assert holding
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("primitive", primitives, ids=str)
def test_templates_write_what_lowering_rules_write(primitive, monkeypatch):
    written = {example: text_of(example) for example in examples(primitive)}
    monkeypatch.setattr(lowering, "known_templates", lambda *_: {})
    monkeypatch.setattr(lowering.Function, "template_of", lambda *_: None)
    for example, text in written.items():
        assert text == text_of(example), example


def text_of(example):
    """The text of a program with an example twice, the second by the template of the first."""
    twice = jit(lambda *operands: [example(*operands), example(*operands)])
    return twice.lower(*example.draw()).as_text()


def test_every_primitive_has_examples_and_rules():
    for primitive in primitives:
        for rules in (impl_rules, abstract_eval_rules, lowering_rules, jvp_rules):
            assert primitive in rules
        if primitive.name in examples_structured.EXCUSED:
            assert not examples(primitive)
            assert primitive in vmap_rules
            continue
        assert examples(primitive), primitive
        takes_operands = any(example.avals for example in examples(primitive))
        assert takes_operands == (primitive in vmap_rules), primitive


def test_what_is_excused_or_has_functions_is_a_primitive():
    names = {primitive.name for primitive in primitives}
    assert names >= {*examples_structured.EXCUSED, *examples_structured.FUNCTIONS}


def test_functions_hold_the_primitive_they_are_examples_of():
    without = []
    for example in EXAMPLES:
        if example.function is not None:
            jaxpr = make_jaxpr(example)(*example.draw()).jaxpr
            if example.primitive not in [eqn.primitive for eqn in jaxpr.eqns]:
                without.append(f"{example}\n{jaxpr}")
    assert not without, "\n".join(without)


OF_NUMPY = {**UNARY, **BINARY, **REDUCTIONS}


@law([e for e in EXAMPLES if e.primitive.name in OF_NUMPY], by_day=COMPUTED)
def test_values_are_those_of_numpy(example):
    args = example.draw()
    (out,) = yield [(example, *args)]
    axes = {"axis": example.params["axes"]} if example.params else {}
    expected = OF_NUMPY[example.primitive.name](*args, **axes)
    is_close(out, np.asarray(expected, out.dtype))


@law(EXAMPLES, by_day=COMPUTED)
def test_abstract_evaluation_and_jit_agree_with_evaluation(example):
    args = example.draw()
    (out,) = yield [(example, *args)]
    jaxpr = make_jaxpr(example)(*args).jaxpr
    typecheck_jaxpr(jaxpr)
    assert jaxpr.out_avals == [typeof(out)]
    if example in EVALUATED:
        evaluated = example(*args)
        is_close(out, evaluated)
        assert typeof(out) == typeof(evaluated)


@law(SMOOTH)
def test_derivatives_have_the_types_of_values(example):
    """And derivatives of them."""
    args, ct = example.draw(), cotangent_for(example)
    tangents = tangents_for(args, seed=1)

    def derivatives(*args):
        def gradient(*args):
            return vjp(example, *args)[1](ct)

        return jvp(example, args, tangents), jvp(gradient, args, tangents)

    (out, out_tangent), (cts, ct_tangents) = eval_shape(derivatives, *args)
    assert (out_tangent.shape, out_tangent.dtype) == (out.shape, out.dtype)
    for x, *both in zip(args, cts, ct_tangents, strict=True):
        dtype = x.dtype if is_inexact(x) else [("float0", np.void, 0)]
        assert [(y.shape, y.dtype) for y in both] == [(x.shape, dtype)] * 2


@law(SMOOTH, by_day=BY_DAY)
def test_jvp_is_the_limit_of_differences(example):
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    wide = [x.astype(np.promote_types(x.dtype, F64)) if is_inexact(x) else x for x in args]
    h = 1e-5
    value, (out, out_tangent), above, below = yield [
        (example, *args),
        (lambda *args: jvp(example, args, tangents), *args),
        (example, *moved(wide, h, tangents)),
        (example, *moved(wide, -h, tangents)),
    ]
    is_close(out, value)
    expected = (np.asarray(above) - np.asarray(below)) / (2 * h)
    tolerance = 1e-4 if out.dtype in (F32, C64) else 1e-7
    is_close(out_tangent, np.asarray(expected, out.dtype), tolerance)


@law(SMOOTH, by_day=BY_DAY)
def test_a_sparse_jacobian_times_a_tangent_is_the_jvp(example):
    args = example.draw()
    places = [i for i, x in enumerate(args) if x.dtype.kind == "f"]
    if not places or eval_shape(example, *args).dtype.kind != "f":
        return
    if example.primitive.name == "reshard":  # elements cannot be chosen along a sharded axis
        return

    def restricted(*xs):
        return example(*(xs[places.index(i)] if i in places else x for i, x in enumerate(args)))

    primals = tuple(args[i] for i in places)
    tangents = tangents_for(primals, seed=1)

    def product(*xs):
        blocks = sparse_jacobian(restricted, *xs, argnums=tuple(range(len(xs))), mode="fwd")
        return sum(
            jnp.tensordot(block.todense(), t, t.ndim)
            for block, t in zip(blocks, tangents, strict=True)
        )

    found, expected = yield [
        (product, *primals),
        (lambda *xs: jvp(restricted, xs, tangents)[1], *primals),
    ]
    is_close(found, expected, 1e-4 if expected.dtype in (F32, C64) else 1e-9)


@law([example for example in EXAMPLES if not example.is_smooth])
def test_what_is_not_smooth_lets_no_derivative_through(example):
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    ((out, out_tangent),) = yield [(lambda *args: jvp(example, args, tangents), *args)]
    zero = np.zeros(out.shape, out.dtype if is_inexact(out) else [("float0", np.void, 0)])
    np.testing.assert_array_equal(np.asarray(out_tangent), zero)


@law(SMOOTH, by_day=[e for e in BY_DAY if not is_long(e)])
def test_vjp_is_the_transpose_of_jvp(example):
    """<ct, J t> is <ct J, t>, whichever operands are constant; elementwise, by day, if none is.

    Where real numbers become complex or the other way round, or conjugates are taken, so are their
    real parts.
    """
    args, ct = example.draw(), cotangent_for(example)
    tangents = tangents_for(args, seed=1)
    choices = [
        chosen
        for chosen in itertools.product([False, True], repeat=len(args))
        if any(chosen) and all(map(is_inexact, itertools.compress(args, chosen)))
    ]
    if is_elementwise(example) and not IS_NIGHT:
        choices = choices[-1:]

    def both(chosen):
        def of_all(*args):
            def f(*variables):
                given = iter(variables)
                return example(
                    *(next(given) if c else x for c, x in zip(chosen, args, strict=True))
                )

            xs = list(itertools.compress(args, chosen))
            _, out_tangent = jvp(f, xs, list(itertools.compress(tangents, chosen)))
            return out_tangent, vjp(f, *xs)[1](ct)

        return of_all

    results = yield [(both(chosen), *args) for chosen in choices]
    changes_kind = {x.dtype.kind for x in args if is_inexact(x)} != {ct.dtype.kind}
    for chosen, (out_tangent, cts) in zip(choices, results, strict=True):
        ts = itertools.compress(tangents, chosen)
        forwards = np.sum(ct * np.asarray(out_tangent))
        backwards = sum(np.sum(np.asarray(x) * t) for x, t in zip(cts, ts, strict=True))
        if changes_kind or example.primitive.name in examples_structured.OF_CONJUGATES:
            forwards, backwards = np.real(forwards), np.real(backwards)
        assert forwards == pytest.approx(backwards, rel=1e-4 if ct.dtype in (F32, C64) else 1e-12)


@law(
    [e for e in SMOOTH if e.avals[0].dtype == F64],
    by_day=first_of_each([e for e in STRUCTURED if e.avals[0].dtype == F64], function_of),
)
def test_derivatives_have_derivatives(example):
    """The rules are made of primitives with rules: forward over reverse, against differences."""
    args, ct = example.draw(), cotangent_for(example)
    tangents = tangents_for(args, seed=1)

    def gradient(*args):
        return vjp(example, *args)[1](ct)

    h = 1e-5
    second, above, below = yield [
        (lambda *args: jvp(gradient, args, tangents)[1], *args),
        (gradient, *moved(args, h, tangents)),
        (gradient, *moved(args, -h, tangents)),
    ]
    for found, a, b in zip(second, above, below, strict=True):
        if np.asarray(found).dtype.kind == "V":
            continue
        is_close(found, (np.asarray(a) - np.asarray(b)) / (2 * h), tolerance=1e-6)


def batches(example):
    """Every choice of operands to batch, each along its first or its last axis.

    By day, all along the first, or in turn along the last and the first.
    """
    count = len(example.avals)
    by_day = (0,) * count, (-1, 0) * count
    every = itertools.product((0, -1), repeat=count)
    for which in itertools.product((False, True), repeat=count):
        if any(which):
            chosen = [iter(ends) for ends in (every if IS_NIGHT else by_day)]
            yield from dict.fromkeys(
                tuple(next(ends) if is_batched else None for is_batched in which) for ends in chosen
            )


def stacked(example, i):
    """Draws of an operand along a first axis."""
    return np.stack([example.draw(seed)[i] for seed in range(BATCH)])


def mapped(example, in_axes):
    """The example of operands with a first axis, which is moved where vmap is to find it."""

    def of_first_axes(*args):
        moved = [
            x if a is None else jnp.moveaxis(x, 0, a) for x, a in zip(args, in_axes, strict=True)
        ]
        return vmap(example, in_axes)(*moved)

    return of_first_axes


@law(EXAMPLES, by_day=OF_EACH_SHAPE)
def test_vmap_is_a_loop(example):
    first, *others = (example.draw(seed) for seed in range(BATCH))
    calls = []
    for in_axes in batches(example):
        axes = list(enumerate(in_axes))
        calls.append(
            (
                mapped(example, in_axes),
                *(first[i] if axis is None else stacked(example, i) for i, axis in axes),
            )
        )
        for draw in (first, *others):
            calls.append((example, *(first[i] if axis is None else draw[i] for i, axis in axes)))
    results = yield calls
    for i in range(0, len(results), 1 + BATCH):
        found, *loop = results[i : i + 1 + BATCH]
        is_close(found, np.stack(loop))


# A convolution of examples has a group of features for each, and groups are counted by ints.
GROUPED_BY_EXAMPLES = {"conv_general_dilated"}


@law([e for e in EXAMPLES if e.avals], by_day=first_of_each(EXAMPLES, function_of))
def test_a_program_for_all_sizes_is_that_of_each_size(example):
    """Its text with a number put in is the text for that number; its dynamic form computes it."""
    f = lambda *xs: vmap(example)(*xs)  # noqa: E731
    if example.primitive.name in GROUPED_BY_EXAMPLES:
        f = lambda x, *others: vmap(example, (0, *[None] * len(others)))(x, *others)  # noqa: E731
    scope = export.SymbolicScope()
    drawn, types = [], []
    for i, aval in enumerate(example.avals):
        is_batched = i == 0 or example.primitive.name not in GROUPED_BY_EXAMPLES
        size = export.symbolic_shape("b", scope=scope) if is_batched else ()
        types.append(ShapeDtypeStruct((*size, *aval.shape), aval.dtype))
        drawn.append(stacked(example, i) if is_batched else example.draw()[i])
    general = jit(f, symbolic=tuple("b, ..." if x.shape else None for x in drawn))
    if example.primitive.name not in GROUPED_BY_EXAMPLES:
        assert general.lower(*drawn).as_text() == jit(f).lower(*drawn).as_text()
    exported = export.export(jit(f))(*types)
    found, expected = yield [(exported.call, *drawn), (f, *drawn)]
    is_close(found, expected)


MESH = sharding.AbstractMesh((BATCH,), ("x",), (sharding.AxisType.Explicit,))


def divided(shape, dtype):
    """The type of an array whose first axis is divided among devices."""
    return ShapeDtypeStruct(shape, dtype, sharding=sharding.NamedSharding(MESH, P("x")))


def test_divided_examples_have_divided_results():
    """Examples do not meet: where each device has some of them, it has those of the results."""
    wrong = []
    for example in EXAMPLES:
        if not example.avals or example.primitive.name in ("reshard", "to_auto"):  # of another mesh
            continue
        batches = [divided((BATCH, *x.shape), x.dtype) for x in example.avals]
        with sharding.use_abstract_mesh(MESH):
            result = by_itself((eval_shape, vmap(example), *batches))
        if isinstance(result, Exception) or result.sharding.spec != P(
            "x", *[None] * (result.ndim - 1)
        ):
            wrong.append(f"{example}: {result!r}")
    assert not wrong, "\n".join(wrong)


@law(widest(SMOOTH), by_day=first_of_each(STRUCTURED, function_of))
def test_transformations_compose_in_every_order(example):
    """vmap(vjp(jit)), vjp(jit(vmap)), jit(vmap(vjp)), vmap(jit(vjp)): all are vjp of one example at
    a time. By day, the latter two are tried of what holds programs.
    """
    ct = cotangent_for(example)

    def pull(f):
        return lambda *args: vjp(f, *args)[1](ct)

    pulled = pull(example)
    args = [stacked(example, i) for i in range(len(example.avals))]
    orders = [
        vmap(pull(jit(example))),
        lambda *args: vjp(jit(vmap(example)), *args)[1](np.stack([ct] * BATCH)),
    ]
    if IS_NIGHT or example.function is not None:
        orders += [jit(vmap(pull(example))), vmap(jit(pull(example)))]
    results = yield [
        *((pulled, *example.draw(seed)) for seed in range(BATCH)),
        *((composed, *args) for composed in orders),
    ]
    loop = zip(*results[:BATCH], strict=True)
    expected = [np.stack([np.asarray(x) for x in xs]) for xs in loop]
    for composed in results[BATCH:]:
        for found, x in zip(composed, expected, strict=True):
            if np.asarray(found).dtype.kind != "V":  # an integer has no derivative
                is_close(found, x)


TRANSPOSED = [  # those that hold programs are as linear as their programs
    example
    for example in SMOOTH
    if example.primitive in transpose_rules and not example.primitive.higher_order
]


def doubled(args):
    return [2 * x if is_inexact(x) else x for x in args]


@law(TRANSPOSED)
def test_what_has_a_transpose_is_linear(example):
    """Doubling the operands in which it is linear doubles the result."""
    args = example.draw()
    places = examples_structured.LINEAR_IN.get(example.primitive.name, range(len(args)))
    changed = [
        y if i in places else x for i, (x, y) in enumerate(zip(args, doubled(args), strict=True))
    ]
    value, value_of_changed = yield [(example, *args), (example, *changed)]
    is_close(value_of_changed, 2 * np.asarray(value))


@law([e for e in TRANSPOSED if e.primitive.name not in examples_structured.LINEAR_IN])
def test_what_is_linear_in_its_operands_together_is_transposed_in_them_together(example):
    args, ct = example.draw(), cotangent_for(example)
    places = [i for i, x in enumerate(args) if is_inexact(x)]

    def transposed_and_pulled(*args):
        def of_inexact(*xs):
            whole = list(args)
            for i, x in zip(places, xs, strict=True):
                whole[i] = x
            return example(*whole)

        xs = [args[i] for i in places]
        return linear_transpose(of_inexact, *xs)(ct), vjp(of_inexact, *xs)[1](ct)

    ((transposed, pulled),) = yield [(transposed_and_pulled, *args)]
    for found, expected in zip(transposed, pulled, strict=True):
        is_close(found, expected)


@pytest.mark.nightly
@pytest.mark.parametrize("primitive", LAWS, ids=str)
def test_laws_hold_operation_by_operation(primitive):
    """Of all examples; and what their calls give is what one program of them all computes."""
    begun = trials(primitive, at_night=True)
    calls = [call for trial in begun for call in trial.calls]
    computed = iter(together(calls))
    errors = []
    for trial in begun:
        results = [by_itself(call) for call in trial.calls]
        for found in results:
            expected = next(computed)
            if not isinstance(found, Exception):
                for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
                    is_close(x, y)
        errors.append(trial.judged(results))
    if errors := [error for error in errors if error is not None]:
        raise ExceptionGroup(f"the laws of {primitive}: {len(errors)} errors", errors)
