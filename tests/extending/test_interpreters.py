"""Primitives, rules and interpreters written against `jax.extend` and `jax.interpreters`."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest
from jax.experimental import io_callback as jax_io_callback
from tables import for_each

import glassjax
import glassjax.ad_checkpoint
import glassjax.debug
import glassjax.export
import glassjax.extend
import glassjax.extend.core
import glassjax.interpreters.batching
import glassjax.interpreters.mlir
from glassjax.experimental import io_callback

LIBRARIES = ["jax", "glassjax"]


class Words:
    """The modules of one library, by their names in programs."""

    def __init__(self, library):
        self.jax = import_module(library)
        self.jnp = import_module(f"{library}.numpy")
        self.lax = import_module(f"{library}.lax")
        self.core = import_module(f"{library}.extend.core")
        self.ad = import_module(f"{library}.interpreters.ad")
        self.batching = import_module(f"{library}.interpreters.batching")
        self.mlir = import_module(f"{library}.interpreters.mlir")
        self.api_util = import_module(f"{library}.api_util")
        self.linear_util = import_module(f"{library}.extend.linear_util")


def both(program):
    """Run a program with the words of JAX and with ours, and compare what it returns."""
    expected, found = (program(Words(library)) for library in LIBRARIES)
    assert len(expected) == len(found) > 0
    for ours, theirs in zip(found, expected, strict=True):
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-6)


def multiply_add(w):
    """x * y + z as a primitive with all of its rules; two parts are written for the compiler."""
    from jaxlib.mlir.dialects import stablehlo

    p = w.core.Primitive("multiply_add")
    p.def_impl(lambda x, y, z: w.jnp.asarray(np.asarray(x) * np.asarray(y) + np.asarray(z)))
    p.def_abstract_eval(lambda x, y, z: w.jax.core.ShapedArray(x.shape, x.dtype))

    def lower(ctx, x, y, z):
        return [stablehlo.AddOp(stablehlo.MulOp(x, y).result, z).result]

    def jvp(primals, tangents):
        x, y, _ = primals
        made = [w.ad.instantiate_zeros(t) for t in tangents]
        return p.bind(*primals), p.bind(made[0], y, p.bind(x, made[1], made[2]))

    def transpose(ct, x, y, z):
        if w.ad.is_undefined_primal(x):
            return p.bind(y, ct, w.jnp.zeros_like(ct)), None, ct
        return None, p.bind(x, ct, w.jnp.zeros_like(ct)), ct

    def batch(args, dims):
        size = next(x.shape[0] for x, dim in zip(args, dims, strict=True) if dim == 0)
        moved = [w.batching.bdim_at_front(x, dim, size) for x, dim in zip(args, dims, strict=True)]
        return p.bind(*moved), 0

    w.mlir.register_lowering(p, lower)
    w.ad.primitive_jvps[p] = jvp
    w.ad.primitive_transposes[p] = transpose
    w.batching.primitive_batchers[p] = batch
    return p


ROW = np.arange(1.0, 4.0, dtype=np.float32)


USES = {
    "call": lambda w, f: f(2.0 * ROW, ROW, ROW),
    "jit": lambda w, f: w.jax.jit(f)(2.0 * ROW, ROW, ROW),
    "jvp": lambda w, f: w.jax.jvp(f, (ROW, ROW, ROW), (ROW, 2 * ROW, 3 * ROW)),
    "grad-x": lambda w, f: w.jax.grad(lambda x: f(x, ROW, x).sum())(ROW),
    "grad-y": lambda w, f: w.jax.grad(lambda y: f(ROW, y, ROW).sum())(ROW),
    "jit-grad": lambda w, f: w.jax.jit(w.jax.grad(lambda x: f(x, x, x).sum()))(ROW),
    "hessian": lambda w, f: w.jax.hessian(lambda x: f(x, x, x).sum())(ROW),
    "vmap": lambda w, f: w.jax.vmap(f)(ROW, ROW, ROW),
    "jit-vmap-grad": lambda w, f: w.jax.jit(w.jax.vmap(w.jax.grad(lambda x: f(x, x, x))))(ROW),
    "scan": lambda w, f: w.lax.scan(lambda c, x: (f(c, x, x), c), ROW[0], ROW),
}


def all_uses(w, uses, f, eagerly):
    """What each use gives in one program, and what some give outside of it, in this order."""
    jitted = w.jax.jit(lambda: {name: use(w, f) for name, use in uses.items()})()
    return w.jax.tree.leaves([jitted, [uses[name](w, f) for name in eagerly]])


def test_a_primitive_with_rules_by_their_words():
    def program(w):
        p = multiply_add(w)

        def f(x, y, z):
            return p.bind(w.jnp.asarray(x), w.jnp.asarray(y), w.jnp.asarray(z))

        return all_uses(w, USES, f, ["call", "jvp", "grad-x", "vmap"])

    both(program)


def test_several_results_by_a_function():
    def program(w):
        p = w.core.Primitive("sines")
        p.multiple_results = True

        def sines(x, *, times):
            return [w.jnp.sin(x) * times, x.sum() + ROW.sum()]

        p.def_impl(sines)
        p.def_abstract_eval(lambda x, *, times: [x, w.jax.core.ShapedArray((), x.dtype)])
        w.mlir.register_lowering(p, w.mlir.lower_fun(sines, multiple_results=True))
        x = w.jnp.asarray(ROW)
        return [*p.bind(x, times=2), *w.jax.jit(partial(p.bind, times=3))(x)]

    both(program)


def test_a_function_within_a_lowering_rule():
    """Its closed-over array is a constant of the program."""

    def program(w):
        from jaxlib.mlir.dialects import stablehlo

        table = w.jnp.asarray(ROW)

        def lower(ctx, x):
            (y,) = w.mlir.lower_fun(lambda v: w.jnp.cos(v) * table, multiple_results=False)(ctx, x)
            return [stablehlo.NegOp(y).result]

        p = w.core.Primitive("negated")
        p.def_abstract_eval(lambda x: x)
        w.mlir.register_lowering(p, lower)
        return [w.jax.jit(lambda x: p.bind(x) + p.bind(2 * x))(w.jnp.asarray(ROW))]

    both(program)


@pytest.mark.parametrize("name", ["primitive_batchers", "fancy_primitive_batchers"])
def test_both_conventions_of_batching(name):
    def program(w):
        p = w.core.Primitive("doubled")
        p.def_impl(lambda x: 2 * x)
        p.def_abstract_eval(lambda x: x)
        seen = []

        def batch(*args):
            *told, (x,), (dim,) = args
            seen.extend(axis.size for axis in told)
            return p.bind(x), dim

        getattr(w.batching, name)[p] = batch
        return [w.jax.vmap(p.bind, in_axes=1, out_axes=1)(np.ones((2, 3), np.float32)), *seen]

    both(program)


def test_the_older_convention_of_batching():
    """It is told the size of the axis; JAX's own proxy takes rules and gives none."""

    def program(w):
        p = w.core.Primitive("mean_of_axis")
        p.def_impl(lambda x: x)
        p.def_abstract_eval(lambda x: x)

        def batch(axis_size, axis_name, trace_type, args, dims):
            return args[0] / axis_size, dims[0]

        w.batching.axis_primitive_batchers[p] = batch
        return [w.jax.vmap(p.bind)(np.ones((4, 3), np.float32))]

    both(program)


def test_rules_of_the_library_by_their_words():
    def program(w):
        x, y = w.jnp.asarray(ROW), w.jnp.asarray(2 * ROW)
        primal, tangent = w.ad.primitive_jvps[w.lax.neg_p]((x,), (y,))
        return [primal, tangent]

    both(program)


def test_an_interpreter_of_jaxprs():
    """A program that walks through equations, and binds each primitive by its parameters."""

    def program(w):
        def f(x):
            looped = w.lax.fori_loop(0, 3, lambda i, c: c * x + i, x)
            return w.jax.jit(w.jnp.sin)(x) + w.lax.cond(x > 1, w.jnp.cos, w.jnp.exp, looped)

        def walk(jaxpr, consts, *args):
            values = {}
            read = lambda v: v.val if isinstance(v, w.core.Literal) else values[v]  # noqa: E731
            values.update(zip(jaxpr.invars, args, strict=True))
            values.update(zip(jaxpr.constvars, consts, strict=True))
            for eqn in jaxpr.eqns:
                params = eqn.primitive.get_bind_params(eqn.params)
                outs = eqn.primitive.bind(*map(read, eqn.invars), **params)
                outs = outs if eqn.primitive.multiple_results else [outs]
                values.update(zip(eqn.outvars, outs, strict=True))
            return [read(v) for v in jaxpr.outvars]

        closed = w.jax.make_jaxpr(f)(w.jnp.float32(1.5))
        once = walk(closed.jaxpr, closed.consts, w.jnp.float32(1.5))
        jitted = w.jax.jit(lambda x: walk(closed.jaxpr, closed.consts, x))(w.jnp.float32(0.5))
        return [*once, *jitted, *w.core.jaxpr_as_fun(closed)(w.jnp.float32(2.0))]

    both(program)


def test_types_by_their_methods():
    def program(w):
        aval = w.jax.typeof(w.jnp.ones((2, 3), "int32"))
        tangent = aval.to_tangent_aval()
        weak = aval.update_weak_type(True)
        assert aval.str_short() == "int32[2,3]"
        assert aval.str_short(short_dtypes=True) == "i32[2,3]"
        assert tangent.dtype == w.jax.dtypes.float0
        mapped = w.core.mapped_aval(2, 0, aval)
        unmapped = w.core.unmapped_aval(4, 1, aval)
        return [aval.size, weak.weak_type, *mapped.shape, *unmapped.shape]

    both(program)


def test_flat_functions():
    def program(w):
        info = w.api_util.debug_info("test", lambda tree: tree, ({"a": 1.0},), {})
        flat, tree = w.jax.tree.flatten(({"a": 1.0, "b": 2.0},))
        wrapped = w.linear_util.wrap_init(lambda t: [t["a"] + t["b"], t], debug_info=info)
        function, out_tree = w.api_util.flatten_fun_nokwargs(wrapped, tree)
        outs = function.call_wrapped(*flat)
        return [*outs, out_tree().num_leaves]

    both(program)


def test_states_of_traces_are_compared():
    def program(w):
        outside = w.core.get_opaque_trace_state(convention="test")
        same = outside == w.core.get_opaque_trace_state(convention="test")
        inside = []
        w.jax.jit(lambda x: inside.append(outside == w.core.get_opaque_trace_state()) or x)(1.0)
        return [float(same), *map(float, inside)]

    both(program)


@pytest.mark.parametrize("instantiate", [False, True])
def test_programs_of_tangents(instantiate):
    def program(w):
        row = w.jnp.asarray(ROW)
        closed = w.jax.make_jaxpr(lambda x, y, z: (x * w.jnp.sin(y), z * 2, row * x))(
            row, row, w.jnp.float32(1)
        )
        forward, nonzeros = w.ad.jvp_jaxpr(closed, [True, False, False], instantiate)
        outs = w.core.jaxpr_as_fun(forward)(row, 2 * row, w.jnp.float32(3), row)
        return [*outs, *map(float, nonzeros)]

    both(program)


def test_types_of_results():
    def program(w):
        pe = import_module(f"{w.jax.__name__}.interpreters.partial_eval")
        info = w.api_util.debug_info("test", len, (), {})
        aval = w.jax.core.ShapedArray((2, 3), np.dtype("float32"))
        f = lambda x, *, axis: [x.sum(axis), x > 0]  # noqa: E731
        outs = pe.abstract_eval_fun(f, aval, debug_info=info, axis=1)
        return [np.zeros(out.shape, out.dtype) for out in outs]

    both(program)


def test_contexts_of_evaluation():
    def program(w):
        core, seen = w.jax.core, []

        @w.jax.jit
        def f(x):
            with core.eval_context():
                seen.append(int(w.jnp.arange(4).sum()))
            with core.ensure_compile_time_eval():
                seen.append(int(w.jnp.arange(3).sum()))
            return x * seen[-1]

        return [f(2.0), *seen, core.max_dim(2, 3), core.min_dim(2, 3)]

    both(program)


def axis_of(w, name, size):
    """The description of a mapped axis, which is private in JAX."""
    private = "_src." if w.jax.__name__ == "jax" else ""
    batching = import_module(f"{w.jax.__name__}.{private}interpreters.batching")
    return batching.AxisData(name, size, None, None)


@pytest.mark.parametrize("places", [[0, 1, None], ["zero", "zero", "zero"], [1, 0, 0], [0]])
def test_programs_of_batches(places):
    def program(w):
        closed = w.jax.make_jaxpr(lambda x, y: (x * y, w.jnp.sin(x), y + 1))(ROW, ROW)
        axis = axis_of(w, None, 2)
        wanted = [w.batching.zero_if_mapped if x == "zero" else x for x in places]
        mapped, batched = w.batching.batch_jaxpr_axes(closed, axis, [1, None], wanted)
        outs = w.core.jaxpr_as_fun(mapped)(np.stack([ROW, 2 * ROW], 1), ROW)
        return [*outs, *map(float, batched)]

    both(program)


def test_functions_of_batches():
    def program(w):
        info = w.core.DebugInfo("test", "f at here", ("x", "y"), ("out",))
        assert info.func_name == "f"
        f = w.linear_util.wrap_init(lambda x, y: [x * y, y, w.jnp.sin(x)], debug_info=info)
        tag, axis = w.core.TraceTag(), axis_of(w, None, 2)
        mapped, out_dims = w.batching.batch_subtrace(f, tag, axis, [0, None])
        outs = mapped.call_wrapped(np.stack([ROW, 2 * ROW]), ROW)
        return [*outs, *[float(dim is None) for dim in out_dims()]]

    both(program)


def test_parts_of_programs():
    def program(w):
        pe = import_module(f"{w.jax.__name__}.interpreters.partial_eval")
        one, two = w.jnp.asarray(ROW), w.jnp.asarray(2 * ROW)
        closed = w.jax.make_jaxpr(lambda x, y: (x * one, y * two, x + y))(one, one)
        pruned = pe.prune_closed_jaxpr_outputs(closed, [True, False, True])
        smaller, *kept = pe.dce_jaxpr_consts(closed, [False, True, False])
        _, *forced = pe.dce_jaxpr_consts(closed, [False, True, False], instantiate=True)
        run = w.core.jaxpr_as_fun
        flags = [float(flag) for flags in (*kept, *forced) for flag in flags]
        return [*run(pruned)(ROW, ROW), *run(smaller)(ROW), *flags]

    both(program)


CALLS = {
    "call": lambda w, f: f(ROW, 2 * ROW),
    "jit": lambda w, f: w.jax.jit(f)(ROW, 2 * ROW),
    "jvp": lambda w, f: w.jax.jvp(f, (ROW, 2 * ROW), (ROW, ROW)),
    "grad": lambda w, f: w.jax.grad(lambda y: f(ROW, y)[0].sum())(ROW),
    "jit of grad": lambda w, f: w.jax.jit(w.jax.grad(lambda x: f(x, x)[0].sum()))(ROW),
    "jvp of grad": lambda w, f: w.jax.jvp(
        w.jax.grad(lambda x: (f(x, x)[0] ** 2).sum()), (ROW,), (ROW,)
    ),
    "linearize": lambda w, f: w.jax.linearize(f, ROW, ROW)[1](ROW, ROW),
    "vmap": lambda w, f: w.jax.vmap(f, (0, None))(np.stack([ROW, 2 * ROW]), ROW),
    "vmap of grad": lambda w, f: w.jax.vmap(w.jax.grad(lambda x: f(x, x)[0]))(ROW),
    "scan": lambda w, f: w.lax.scan(lambda c, x: (f(c, x)[0], c), ROW[0], ROW),
    "unused": lambda w, f: w.jax.jit(lambda x: f(x, 3 * x)[1])(ROW),
}


def test_primitives_that_call_a_program():
    def program(w):
        call_p = w.core.create_call_primitive("my_call")
        assert call_p.multiple_results

        constant = w.jnp.asarray(2.5)

        def f(x, y):
            inner = w.jax.make_jaxpr(lambda x, y: (w.jnp.sin(x) * y * constant, x + 1))
            x, y = w.jnp.asarray(x), w.jnp.asarray(y)
            return call_p.bind(x, y, call_jaxpr=inner(x, y))

        names = [eqn.primitive.name for eqn in w.jax.make_jaxpr(f)(ROW, ROW).jaxpr.eqns]
        assert names[-1] == "my_call"
        return all_uses(w, CALLS, f, ["call", "grad"])

    both(program)


@pytest.mark.parametrize("name", ["psum_p", "pmax_p", "pmin_p"])
def test_collectives_are_bound_by_names_of_axes(name):
    def program(w):
        p = getattr(w.lax, name)
        with pytest.raises(TypeError, match="axes"):
            p.bind(ROW)
        f = w.jax.vmap(lambda x: p.bind(x, axes=("i",), axis_index_groups=None), axis_name="i")
        return [f(ROW), w.jax.jit(f)(2 * ROW)]

    both(program)


def test_rules_of_dead_code():
    def program(w):
        pe = import_module(f"{w.jax.__name__}.interpreters.partial_eval")
        call_p = w.core.create_call_primitive("my_call")
        inner = w.jax.make_jaxpr(lambda x, y: (w.jnp.sin(x), y * 2, x * y))(ROW, ROW)
        jaxpr = w.jax.make_jaxpr(lambda x, y: call_p.bind(x, y, call_jaxpr=inner))(ROW, ROW).jaxpr
        (eqn,) = jaxpr.eqns
        flags = []
        for used in ([True, False, False], [False, True, False], [True, False, True]):
            for rule in (pe.dce_jaxpr_call_rule, pe.dce_rules[call_p]):
                used_ins, smaller = rule(used, [True, True], eqn)
                flags += [*used_ins, len(smaller.invars), len(smaller.outvars)]
        used_ins, nothing = pe.dce_jaxpr_closed_call_rule([False] * 3, [True, True], eqn)
        told = []

        def rule(used_outs, live_ins, eqn):
            told.append((used_outs, len(live_ins), eqn.primitive.name))
            return [True] * len(eqn.invars), eqn

        pe.dce_rules[call_p] = rule
        assert pe.dce_rules[call_p] is rule
        pe.dce_jaxpr(jaxpr, [False, True, True])
        assert told == [([False, True, True], 2, "my_call")]
        return [*map(float, [*flags, *used_ins]), float(nothing is None)]

    both(program)


def test_a_client_finds_its_tracers_by_their_class():
    """equinox took all derivatives of a function for zero, since the class was another one."""

    def program(w):
        found = []

        def f(x):
            found.extend([x, w.jnp.sin(x), w.jnp.matmul(x, x), x + 1.0, w.jnp.float32(1.0)])
            return x

        w.jax.jvp(f, (ROW,), (ROW,))
        return [float(isinstance(x, w.ad.JVPTracer)) for x in found]

    both(program)


def test_a_program_that_a_primitive_does_not_run_stays_the_same_object():
    def program(w):
        p, found = w.core.Primitive("holds"), []
        p.def_impl(lambda x, held: found.append(held) or x)
        p.def_abstract_eval(lambda x, held: found.append(held) or x)
        held = w.jax.make_jaxpr(w.jnp.sin)(ROW)
        p.bind(ROW, held=held)
        (eqn,) = w.jax.make_jaxpr(lambda x: p.bind(x, held=held))(ROW).eqns
        return [float(each is held) for each in (*found, eqn.params["held"])]

    both(program)


def test_the_class_of_clients():
    def program(w):
        backend = import_module(f"{w.jax.__name__}.interpreters.xla").Backend
        return [float(isinstance(w.jax.devices()[0].client, backend))]

    both(program)


X = np.float32(3)


# Effects.
@for_each("ordered", [False, True])
def test_programs_have_effects(lib, ordered):
    def printing(x):
        lib.debug.print("{}", x, ordered=ordered)
        return x

    call = io_callback if lib is glassjax else jax_io_callback
    expected = lib.debug.OrderedDebugEffect if ordered else lib.debug.DebugEffect
    nested = lambda x: lib.lax.scan(lambda c, _: (lib.jit(printing)(c), None), x, length=2)[0]  # noqa: E731
    for function in (printing, lib.jit(printing), nested):
        jaxpr = lib.make_jaxpr(function)(X)
        assert list(map(type, jaxpr.effects)) == [expected]
        assert {e for eqn in jaxpr.eqns for e in eqn.effects} == set(jaxpr.effects)
    assert lib.make_jaxpr(lambda x: x * 2)(X).effects == set()
    (io_effect,) = lib.make_jaxpr(lambda x: call(abs, x, x, ordered=ordered))(X).effects
    assert str(type(io_effect).__name__) == ("OrderedIOEffect" if ordered else "IOEffect")
    assert str(expected()) == ("OrderedDebug" if ordered else "Debug")
