"""The law: every primitive declared here has every rule, and every rule is right.

Each primitive brings examples; each law is tried on all of them.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import indexing_examples
import law_elementwise
import law_structured
import numpy as np
import pytest

import minijax.export  # declares primitives, as does the next
import minijax.scipy.special  # noqa: F401
from minijax import (
    P,
    ShapeDtypeStruct,
    core,
    eval_shape,
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
from minijax.core import (
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
from minijax_stage2 import primitives as stage2_primitives
from minijax_stage4 import stop_gradient_p

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
# Nor do these mean anything without the name of an axis, or a mesh: tests/test_collectives.py and
# tests/devices/test_shard_map.py have their laws.
OF_AXES = {
    *("psum", "pmax", "pmin", "all_gather", "all_gather_invariant"),
    *("psum_scatter", "all_to_all", "ppermute"),
    *("axis_index", "pvary", "shard_map"),
}
# Nor does this mean the same on each platform: tests/test_platforms.py.
OF_PLATFORMS = {"platform_index"}
UNSTEADY = {"rng_uniform"}  # gives other numbers each time: test_lax.py
# Nor do these take or give numbers: tests/test_tokens.py.
OF_TOKENS = {"create_token", "after_all"}
OF_STAGES = {x for x in vars(stage2_primitives).values() if isinstance(x, Primitive)}
OF_STAGES |= {stop_gradient_p}  # of which the laws of the stages are
primitives = [
    p
    for p in abstract_eval_rules
    if p not in OF_STAGES and p.name not in OF_KEYS | OF_AXES | OF_PLATFORMS | OF_TOKENS | UNSTEADY
]

# What numpy calls the elementwise primitives; the others are in `examples` below.
UNARY = {
    **law_elementwise.UNARY,
    "real": np.real,
    "imag": np.imag,
}
BINARY = {**law_elementwise.BINARY, "complex": lambda x, y: x + 1j * y}
REDUCTIONS = {
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_and": np.bitwise_and.reduce,
    "reduce_or": np.bitwise_or.reduce,
    "reduce_xor": np.bitwise_xor.reduce,
    "reduce_prod": np.prod,
}
NOT_SMOOTH = {*law_elementwise.NOT_SMOOTH, *law_structured.NOT_SMOOTH}


@dataclass
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
        bounds = law_elementwise.RANGES.get(self.primitive.name, (0.5, 1.5))
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
        for shapes in itertools.product([(), (2, 3)], repeat=2):
            yield Example(primitive, tuple(ShapedArray(shape, F64) for shape in shapes))
    elif name == "clamp":
        yield from (Example(primitive, avals) for avals in of_every_type((2, 3), (2, 3), (2, 3)))
        yield Example(primitive, tuple(ShapedArray(shape, F64) for shape in ((), (2, 3), ())))
    elif name in law_elementwise.OTHERS:
        yield from (Example(primitive, (ShapedArray((2, 3), dtype),)) for dtype in (F64, F32))
    elif name in law_elementwise.HELD:
        held = law_elementwise.HELD[name]
        for dtype, shape in itertools.product((F64, F32), [(2, 3), ()]):
            yield Example(primitive, (ShapedArray(shape, dtype),), held=held)
    elif name in law_elementwise.PARAMS:
        for avals, params in itertools.product(of_every_type((2, 3)), law_elementwise.PARAMS[name]):
            yield Example(primitive, avals, params)
    elif name == "bitcast_convert_type":
        for shape, old, new in law_elementwise.BITCASTS:
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
    for avals, params in indexing_examples.of(name):
        yield Example(primitive, avals, params)
    for function, shapes, dtype in law_structured.of(name):
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


def narrower_at_night(examples):
    """The examples as parameters of a test, run at every change for the widest numbers."""
    by_day = set(map(id, widest(examples)))
    return [
        pytest.param(x, marks=[] if id(x) in by_day else [pytest.mark.nightly], id=str(x))
        for x in examples
    ]


every_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)
every_smooth_example = pytest.mark.parametrize("example", SMOOTH, ids=str)


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


def is_inexact(x):
    return np.asarray(x).dtype.kind in "fc"


def moved(args, h, tangents):
    """The arguments, moved along their tangents; integers stay what they are."""
    return [x + h * t if is_inexact(x) else x for x, t in zip(args, tangents, strict=True)]


def is_close(x, y, tolerance=None):
    x, y = np.asarray(x), np.asarray(y)
    assert x.shape == y.shape
    assert x.dtype == y.dtype
    tolerance = tolerance or (1e-5 if x.dtype in (F32, C64) else 1e-12)
    np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("primitive", [x for x in abstract_eval_rules if x.higher_order], ids=str)
def test_a_primitive_that_holds_programs_says_in_every_column_what_is_done_with_them(primitive):
    for rules in (
        *(impl_rules, lowering_rules, jvp_rules, vmap_rules),
        *(core.partial_eval_rules, core.dce_rules, core.dependence_rules),
        *(core.order_rules, core.key_rules, core.step_rules),
    ):
        assert primitive in rules, rules.table


@pytest.mark.parametrize("primitive", primitives, ids=str)
def test_every_primitive_has_examples_and_rules(primitive):
    for rules in (impl_rules, abstract_eval_rules, lowering_rules, jvp_rules):
        assert primitive in rules
    if primitive.name in law_structured.EXCUSED:
        assert not examples(primitive)
        assert primitive in vmap_rules
        return
    assert examples(primitive)
    takes_operands = any(example.avals for example in examples(primitive))
    assert takes_operands == (primitive in vmap_rules)


def test_what_is_excused_or_has_functions_is_a_primitive():
    names = {primitive.name for primitive in primitives}
    assert names >= {*law_structured.EXCUSED, *law_structured.FUNCTIONS}


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.function is not None], ids=str)
def test_functions_hold_the_primitive_they_are_examples_of(example):
    jaxpr = make_jaxpr(example)(*example.draw()).jaxpr
    assert example.primitive in [eqn.primitive for eqn in jaxpr.eqns]


@pytest.mark.parametrize("name", [*UNARY, *BINARY, *REDUCTIONS])
def test_values_are_those_of_numpy(name):
    (primitive,) = (primitive for primitive in primitives if primitive.name == name)
    for example in examples(primitive):
        args = example.draw()
        axes = {"axis": example.params["axes"]} if example.params else {}
        expected = ({**UNARY, **BINARY, **REDUCTIONS})[name](*args, **axes)
        out = example(*args)
        is_close(out, np.asarray(expected, out.dtype))


@every_example
def test_abstract_evaluation_and_jit_agree_with_evaluation(example):
    args = example.draw()
    out = example(*args)
    is_close(jit(example)(*args), out)
    jaxpr = make_jaxpr(example)(*args).jaxpr
    typecheck_jaxpr(jaxpr)
    assert jaxpr.out_avals == [typeof(out)]


@every_smooth_example
def test_jvp_is_the_limit_of_differences(example):
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    out, out_tangent = jvp(example, args, tangents)
    is_close(out, example(*args))
    wide = [np.asarray(x, np.promote_types(x.dtype, F64)) if is_inexact(x) else x for x in args]
    h = 1e-5
    above = example(*moved(wide, h, tangents))
    below = example(*moved(wide, -h, tangents))
    expected = (np.asarray(above) - np.asarray(below)) / (2 * h)
    tolerance = 1e-4 if out.dtype in (F32, C64) else 1e-7
    is_close(out_tangent, np.asarray(expected, out.dtype), tolerance)


@pytest.mark.parametrize("example", [e for e in EXAMPLES if not e.is_smooth], ids=str)
def test_what_is_not_smooth_lets_no_derivative_through(example):
    args = example.draw()
    out, out_tangent = jvp(example, args, tangents_for(args, seed=1))
    zero = np.zeros(out.shape, out.dtype if out.dtype.kind in "fc" else [("float0", np.void, 0)])
    np.testing.assert_array_equal(np.asarray(out_tangent), zero)


@every_smooth_example
def test_vjp_is_the_transpose_of_jvp(example):
    """<ct, J t> is <ct J, t>, whichever operands are constant.

    Where real numbers become complex or the other way round, or conjugates are taken, so are their
    real parts.
    """
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    for chosen in itertools.product([False, True], repeat=len(args)):
        if not any(chosen) or not all(map(is_inexact, itertools.compress(args, chosen))):
            continue

        def f(*variables, chosen=chosen):
            given = iter(variables)
            return example(*(next(given) if c else x for c, x in zip(chosen, args, strict=True)))

        xs = list(itertools.compress(args, chosen))
        ts = list(itertools.compress(tangents, chosen))
        out, out_tangent = jvp(f, xs, ts)
        (ct,) = tangents_for([np.asarray(out)], seed=2)
        _, f_vjp = vjp(f, *xs)
        forwards = np.sum(ct * np.asarray(out_tangent))
        backwards = sum(np.sum(np.asarray(x) * t) for x, t in zip(f_vjp(ct), ts, strict=True))
        changes_kind = {x.dtype.kind for x in args if is_inexact(x)} != {out.dtype.kind}
        if changes_kind or example.primitive.name in law_structured.OF_CONJUGATES:
            forwards, backwards = np.real(forwards), np.real(backwards)
        assert forwards == pytest.approx(backwards, rel=1e-4 if out.dtype in (F32, C64) else 1e-12)


@pytest.mark.parametrize("example", [e for e in SMOOTH if e.avals[0].dtype == F64], ids=str)
def test_derivatives_have_derivatives(example):
    """The rules are made of primitives with rules: forward over reverse, against differences."""
    args = example.draw()
    tangents = tangents_for(args, seed=1)
    (ct,) = tangents_for([np.asarray(example(*args))], seed=2)

    def gradient(*args):
        return vjp(example, *args)[1](ct)

    h = 1e-5
    above = gradient(*moved(args, h, tangents))
    below = gradient(*moved(args, -h, tangents))
    _, second = jvp(gradient, args, tangents)
    for found, a, b in zip(second, above, below, strict=True):
        if np.asarray(found).dtype.kind == "V":
            continue
        is_close(found, (np.asarray(a) - np.asarray(b)) / (2 * h), tolerance=1e-6)


def batches(example):
    """Every choice of operands to batch, each along its first or its last axis."""
    for which in itertools.product((False, True), repeat=len(example.avals)):
        if any(which):
            ends = [(0, -1) if is_batched else (None,) for is_batched in which]
            yield from itertools.product(*ends)


def batched(draws, in_axes):
    return tuple(
        xs[0] if axis is None else np.stack(xs, axis=axis)
        for xs, axis in zip(zip(*draws, strict=True), in_axes, strict=True)
    )


@pytest.mark.parametrize("example", narrower_at_night(EXAMPLES))
def test_vmap_is_a_loop(example):
    draws = [example.draw(seed) for seed in range(BATCH)]
    for in_axes in batches(example):
        loop = [
            example(
                *(xs[0] if a is None else xs[i] for xs, a in zip(columns, in_axes, strict=True))
            )
            for columns in [list(zip(*draws, strict=True))]
            for i in range(BATCH)
        ]
        found = vmap(example, in_axes)(*batched(draws, in_axes))
        is_close(found, np.stack([np.asarray(x) for x in loop]))


MESH = sharding.AbstractMesh((BATCH,), ("x",), (sharding.AxisType.Explicit,))


def divided(shape, dtype):
    """The type of an array whose first axis is divided among devices."""
    return ShapeDtypeStruct(shape, dtype, sharding=sharding.NamedSharding(MESH, P("x")))


@every_example
def test_divided_examples_have_divided_results(example):
    """Examples do not meet: where each device has some of them, it has those of the results."""
    if not example.avals or example.primitive.name in ("reshard", "to_auto"):  # of another mesh
        return
    batches = [divided((BATCH, *x.shape), x.dtype) for x in example.avals]
    with sharding.use_abstract_mesh(MESH):
        results = eval_shape(vmap(example), *batches)
    for result in tree.leaves(results):
        assert result.sharding.spec == P("x", *[None] * (result.ndim - 1)), result


def others_at_night(examples):
    """The examples as parameters of a test, run at every change for the first of each primitive."""
    seen, parameters = set(), []
    for example in examples:
        marks = [pytest.mark.nightly] if (example.primitive, example.function) in seen else []
        seen.add((example.primitive, example.function))
        parameters.append(pytest.param(example, marks=marks, id=str(example)))
    return parameters


@pytest.mark.parametrize("example", others_at_night(widest(SMOOTH)))
def test_transformations_compose_in_every_order(example):
    """jit(vmap(vjp)), vmap(jit(vjp)), vmap(vjp(jit)): all are vjp of one example at a time."""
    draws = [example.draw(seed) for seed in range(BATCH)]
    out = example(*draws[0])
    (ct,) = tangents_for([np.asarray(out)], seed=2)

    def pull(f):
        return lambda *args: vjp(f, *args)[1](ct)

    args = batched(draws, (0,) * len(example.avals))
    loop = [pull(example)(*draw) for draw in draws]
    expected = [np.stack([np.asarray(x) for x in xs]) for xs in zip(*loop, strict=True)]
    for composed in (
        jit(vmap(pull(example))),
        vmap(jit(pull(example))),
        vmap(pull(jit(example))),
        lambda *args: vjp(jit(vmap(example)), *args)[1](np.stack([ct] * BATCH)),
    ):
        for found, x in zip(composed(*args), expected, strict=True):
            if np.asarray(found).dtype.kind != "V":  # an integer has no derivative
                is_close(found, x)


def doubled(args):
    return [2 * x if is_inexact(x) else x for x in args]


@pytest.mark.parametrize("primitive", primitives, ids=str)
def test_what_has_a_transpose_is_linear(primitive):
    """Doubling the operands in which it is linear doubles the result."""
    if primitive not in transpose_rules or primitive.higher_order:  # as linear as its program
        return
    for example in examples(primitive):
        if not example.is_smooth:
            continue
        args = example.draw()
        places = law_structured.LINEAR_IN.get(primitive.name, range(len(args)))
        changed = [
            y if i in places else x
            for i, (x, y) in enumerate(zip(args, doubled(args), strict=True))
        ]
        is_close(example(*changed), 2 * np.asarray(example(*args)))


@every_smooth_example
def test_what_is_linear_in_its_operands_together_is_transposed_in_them_together(example):
    args = example.draw()
    is_linear = example.primitive in transpose_rules and np.allclose(
        example(*doubled(args)), 2 * np.asarray(example(*args))
    )
    if not is_linear:
        return
    (ct,) = tangents_for([np.asarray(example(*args))], seed=2)
    places = [i for i, x in enumerate(args) if is_inexact(x)]

    def of_inexact(*xs):
        whole = list(args)
        for i, x in zip(places, xs, strict=True):
            whole[i] = x
        return example(*whole)

    xs = [args[i] for i in places]
    transposed = linear_transpose(of_inexact, *xs)(ct)
    for found, expected in zip(transposed, vjp(of_inexact, *xs)[1](ct), strict=True):
        is_close(found, expected)
