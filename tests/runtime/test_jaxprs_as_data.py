"""Jaxprs as data, beside JAX: primitives, parameters, operands, types, literals, inner programs."""

import subprocess
import sys

import jax
import jax.extend.source_info_util
import jax.scipy.signal
import jax.scipy.stats
import numpy as np
import pytest
from jaxprs_as_data import differences, jaxpr_data
from library_programs import EXPRESSIONS, WAYS, staged

import glassjax
import glassjax.extend
import glassjax.numpy as jnp
from fuzzing.jaxpr_differences import DIFFERENT
from glassjax import lax, monitoring
from glassjax.extend.core import Jaxpr, nested_calls, new_jaxpr_eqn

pytestmark = pytest.mark.newest_jax

LISTED = {line.strip() for lines in DIFFERENT.values() for line in lines.strip().split("\n")}
LEAST_SHARE = 0.98  # of the programs, those that are equal

# Neither library maps, or differentiates, these.
REFUSED = (TypeError, ValueError, NotImplementedError, AttributeError, IndexError)


def both(expression, way):
    """The data of both libraries' programs; None if JAX does not transform the expression so."""
    try:
        theirs = staged(jax, expression, way)
    except REFUSED:
        return None
    if theirs is None:
        return None
    try:
        with nested_calls():
            return jaxpr_data(staged(glassjax, expression, way)), jaxpr_data(theirs)
    except REFUSED as error:
        return repr(error), jaxpr_data(theirs)


def test_programs_are_those_of_jax_or_listed():
    assert set(EXPRESSIONS) >= LISTED
    equal, total, unlisted, differing = 0, 0, [], set()
    for expression in EXPRESSIONS:
        for way in WAYS:
            pair = both(expression, way)
            if pair is None:
                continue
            total += 1
            if pair[0] == pair[1]:
                equal += 1
                continue
            differing.add(expression)
            if expression not in LISTED:
                unlisted.append((expression, way, next(differences(*pair), "variables")))
    print(f"{equal} of {total} programs are equal as data")
    assert not unlisted
    assert sorted(LISTED - differing) == []
    assert equal / total >= LEAST_SHARE


@pytest.mark.parametrize(
    "expression",
    ["x * x + x", "x / x + x", "lax.mul(x, x) + x", "lax.div(x, x)", "jnp.abs(x) * x + x"],
)
def test_cotangents_are_summed_in_jaxs_order(expression):
    ours, theirs = both(expression, "grad")
    assert ours == theirs


X = np.array([0.25, 0.5, 0.75], np.float32)

# Programs with the parameters that JAX writes, and that ours leave out or name otherwise.
PROGRAMS = {
    "elementary": lambda x: jnp.tanh(jnp.exp(x) * 2),
    "products": lambda x: jnp.dot(x, x, precision="highest") + lax.dot(x, x),
    "shapes": lambda x: jnp.broadcast_to(x.reshape(3, 1), (3, 2)).sum(0).astype(int),
    "slices": lambda x: (x[1:], x[::2], jnp.argmax(x), lax.top_k(x, 2)),
    "scatter": lambda x: x.at[np.array([0, 1])].add(1.0).at[np.array([1])].get(mode="fill"),
    "jit": glassjax.jit(lambda x: glassjax.jit(jnp.sin)(x) * 2),
    "scan": lambda x: lax.scan(lambda c, a: (c * x[0] + a, c), x[0], x),
    "while": lambda x: lax.while_loop(lambda c: c < x[0], lambda c: c + x[1], 0.0),
    "cond": lambda x: lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "checkpoint": glassjax.grad(lambda x: glassjax.checkpoint(jnp.sin)(x).sum()),
    "random": lambda x: glassjax.random.normal(glassjax.random.key(0), (3,)) * x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_with_these_parameters_is_evaluated(name):
    closed = glassjax.make_jaxpr(PROGRAMS[name])(X)
    x = jnp.asarray(X)
    expected = glassjax.tree.leaves(PROGRAMS[name](x))

    def interpreted(jaxpr, consts, args):
        """By `bind`, as interpreters written for JAX do."""
        values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True))
        for eqn in jaxpr.eqns:
            operands = [x.val if hasattr(x, "val") else values[x] for x in eqn.invars]
            outs = eqn.primitive.bind(*operands, **eqn.params)
            outs = outs if eqn.primitive.multiple_results else [outs]
            values.update(zip(eqn.outvars, outs, strict=True))
        return [x.val if hasattr(x, "val") else values[x] for x in jaxpr.outvars]

    glassjax.core.typecheck_jaxpr(closed.jaxpr)
    equations = [
        new_jaxpr_eqn(eqn.invars, eqn.outvars, eqn.primitive, eqn.params) for eqn in closed.eqns
    ]
    rebuilt = Jaxpr(closed.constvars, closed.invars, closed.outvars, equations)
    assert jaxpr_data(rebuilt) == jaxpr_data(closed)
    smaller, used = glassjax.core.dce_jaxpr(closed.jaxpr)
    assert jaxpr_data(glassjax.make_jaxpr(glassjax.core.jaxpr_as_fun(closed))(X)) == jaxpr_data(
        closed
    )
    for found in (
        glassjax.core.eval_jaxpr(closed.jaxpr, closed.consts, X),
        glassjax.core.jaxpr_as_fun(closed)(X),
        glassjax.jit(glassjax.core.jaxpr_as_fun(closed))(X),
        interpreted(closed.jaxpr, closed.consts, [X]),
        glassjax.core.eval_jaxpr(rebuilt, closed.consts, X),
        glassjax.core.eval_jaxpr(smaller, closed.consts, *[X][: sum(used)]),
        glassjax.export.export(glassjax.jit(PROGRAMS[name]))(X).call(X),
    ):
        for x, y in zip(glassjax.tree.leaves(found), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-6)


@pytest.mark.parametrize(
    ("scatter", "expected"),
    [("scatter_add", 5), ("scatter_mul", 6), ("scatter_min", 2), ("scatter_max", 3)],
)
def test_the_program_in_a_scatter_combines_two_elements(scatter, expected):
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    x, indices = jnp.zeros(3), jnp.array([[1]])
    program = glassjax.make_jaxpr(getattr(lax, scatter), static_argnums=3)
    (eqn,) = (e for e in program(x, indices, x[:1], numbers).eqns if "scatter" in str(e.primitive))
    assert glassjax.core.eval_jaxpr(eqn.params["update_jaxpr"], (), 2.0, 3.0) == [expected]


def test_a_program_that_is_read_again_is_compiled_once():
    closed = glassjax.make_jaxpr(glassjax.jit(lambda x: jnp.exp(x) * 2))(X)
    events = []

    def listener(event, *_, **__):
        events.append(event)

    monitoring.register_event_duration_secs_listener(listener)
    try:
        for _ in range(2):
            glassjax.core.eval_jaxpr(closed.jaxpr, closed.consts, X)
    finally:
        monitoring.unregister_event_duration_listener(listener)
    assert events.count(monitoring.COMPILED) <= 1


def test_the_parts_of_a_program_have_their_attributes_without_another_import():
    """In a process that imports nothing else: the methods are set when a program is handed out."""
    code = """
import glassjax
closed = glassjax.make_jaxpr(lambda x: x + 1)(1.0)
(eqn,) = closed.eqns
print(len(closed.invars), closed.effects, eqn.effects, eqn.source_info, eqn.primitive.bind(2, 3))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("1 set() set() ")


def test_what_jax_inlines_has_the_names_and_the_line_of_its_call():
    """Equations had those of the call that traced the program first, and dm-haiku's none."""

    def program(lib):
        def f(x):
            with lib.named_scope("first"):
                y = lib.numpy.dot(x, x)
            with lib.named_scope("second"):
                return lib.numpy.dot(y, x)

        with nested_calls():
            eqns = lib.make_jaxpr(f)(np.ones((2, 2), np.float32)).eqns
        place = lib.extend.source_info_util.summarize
        return [(str(eqn.source_info.name_stack), place(eqn.source_info)) for eqn in eqns]

    ours, theirs = program(glassjax), program(jax)
    assert [names for names, _ in ours] == [names for names, _ in theirs] == ["first", "second"]
    lines = [line.partition(" ")[0] for _, line in ours]
    assert lines[0] != lines[1]
    assert all(there.startswith(f"{line}:") for line, (_, there) in zip(lines, theirs, strict=True))


def test_a_program_says_what_it_was_traced_from():
    def model(params, x):
        return {"out": params["w"] * x, "rest": [x]}

    described = [library.make_jaxpr(model)({"w": 1.0}, X).debug_info for library in (glassjax, jax)]
    for name in ("traced_for", "arg_names", "result_paths", "func_src_info"):
        ours, theirs = (getattr(each, name) for each in described)
        assert ours == theirs


# Functions of a library and a vector that scan: with constants, and results without a tangent.
SCANS = {
    "constants": lambda lib, x: lib.lax.scan(lambda c, a: (c * x[0] * a, c), 1.0, x)[0],
    "counter": lambda lib, x: lib.lax.scan(
        lambda c, a: ((c[0] + a * x[0], c[1] + 1), (c[0] * a, c[1])), (x[0], 1), x
    )[1][0].sum(),
}
DERIVATIVES = {
    "jvp": lambda lib, f: lambda x: lib.jvp(f, (x,), (x,)),
    "jvp of jvp": lambda lib, f: lambda x: lib.jvp(lambda x: lib.jvp(f, (x,), (x,)), (x,), (x,)),
    "grad": lambda lib, f: lib.grad(f),
    "vmap of grad": lambda lib, f: lambda x: lib.vmap(lib.grad(f))(lib.numpy.stack([x, x])),
}


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", SCANS)
def test_trees_of_a_derived_scan_are_those_of_jax(name, derivative):
    def trees(lib):
        function = DERIVATIVES[derivative](lib, lambda x: SCANS[name](lib, x))
        with nested_calls():
            eqns = lib.make_jaxpr(function)(X).eqns
        scans = [eqn.params for eqn in eqns if eqn.primitive.name == "scan"]
        return [(str(params["ft_in"]), str(params["ft_out"])) for params in scans]

    assert trees(glassjax) == trees(jax)
