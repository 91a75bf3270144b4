"""Lowering templates: a copy equals what the function would have written."""

import re
import sys
import threading

import numpy as np
import pytest
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import core, grad, jit, jvp, make_jaxpr, nn, vmap
from glassjax.core import Primitive, bind, declare
from glassjax.runtime import templates as copied_functions
from glassjax.runtime.lowering import Function
from glassjax.runtime.operation import operation
from glassjax.runtime.templates import JaxprTrace

X = jnp.array([[0.3, 1.5, -0.7], [2.0, -1.1, 0.4]])


FUNCTIONS = {
    "sum": jnp.sum,
    "mean of rows": lambda x: jnp.mean(x, axis=1, keepdims=True),
    "var": jnp.var,
    "softmax": nn.softmax,
    "gelu": nn.gelu,
    "logsumexp": nn.logsumexp,
    "max": lambda x: jnp.max(x, axis=-1),
    "sort": jnp.sort,
    "cumsum": jnp.cumsum,
    "matmul": lambda x: x @ x.T,
    "operators": lambda x: (2.0 * x - 1) / (x * x + 3) ** 2,
    "comparisons": lambda x: jnp.where(x > 0, x, -x),
    "einsum": lambda x: jnp.einsum("ij,kj->ik", x, x),
    "reshape and transpose": lambda x: jnp.transpose(x.reshape(3, 2), (1, 0)),
    "concatenate": lambda x: jnp.concatenate([x, jnp.ones((1, 3))]),
    "stack": lambda x: jnp.stack([x, 2 * x], axis=1),
    "take": lambda x: jnp.take(x, jnp.array([1, 0]), axis=0),
    "clip": lambda x: jnp.clip(x, -1, 1),
    "norm": jnp.linalg.norm,
    "power": lambda x: jnp.power(jnp.abs(x), 2.5) + x**3,
    "one_hot": lambda x: x * nn.one_hot(jnp.array([0, 2]), 3),
    "normal": lambda x: x + glassjax.random.normal(glassjax.random.key(0), (2, 3)),
    "pad": lambda x: jnp.pad(x, 1),
    "roll": lambda x: jnp.roll(x, 1, axis=0),
    "split": lambda x: jnp.split(x, 3, axis=1)[1],
    "numpy's numbers": lambda x: x * np.float32(2) + np.ones((2, 3), np.float32),
    "nothing": lambda x: jnp.asarray(x),
}


FORMS = {
    "as it is": lambda f: f,
    "mapped": vmap,
    "with tangents": lambda f: lambda x: jvp(f, (x,), (jnp.ones_like(x),)),
    "mapped with tangents": lambda f: vmap(lambda x: jvp(f, (x,), (jnp.ones_like(x),))),
}


def without_templates(monkeypatch, action):
    with monkeypatch.context() as patch:
        patch.setattr(JaxprTrace, "takes_templates", False)
        return action()


@for_each("name", FUNCTIONS)
def test_a_copy_is_what_the_function_writes(name, monkeypatch):
    expected = without_templates(monkeypatch, lambda: str(make_jaxpr(FUNCTIONS[name])(X)))
    for _ in "12":  # the call that makes the template, and one that copies it
        assert str(make_jaxpr(FUNCTIONS[name])(X)) == expected


@for_each(
    ("name", "form"), [(name, form) for name in FUNCTIONS for form in FORMS if form != "as it is"]
)
def test_transformed_copies_compute_the_same(name, form, monkeypatch):
    xs = jnp.stack([X, 0.5 * X]) if "mapped" in form else X
    f = FORMS[form](FUNCTIONS[name])
    stage = lambda: make_jaxpr(f)(xs)  # noqa: E731
    plain = without_templates(monkeypatch, stage)
    copied = stage()
    run = glassjax.core.jaxpr_as_fun
    for found, expected in zip(run(copied)(xs), run(plain)(xs), strict=True):
        assert found.aval == expected.aval
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@for_each("name", set(FUNCTIONS) - {"sort"})
def test_gradients_of_copies_are_those_of_the_functions(name, monkeypatch):
    gradient = jit(grad(lambda x: jnp.sum(jnp.sin(FUNCTIONS[name](x)))))
    plain = without_templates(monkeypatch, lambda: gradient(X))
    gradient.clear_cache()
    np.testing.assert_allclose(gradient(X), plain, rtol=2e-5, atol=1e-6)


def test_common_functions_are_copied(monkeypatch):
    """No call falls back to the function itself."""
    fallen = []
    call = copied_functions.Templates.call

    def counted(templates, *args):
        out = call(templates, *args)
        if out is copied_functions.not_copied:
            fallen.append(templates.function.__name__)
        return out

    monkeypatch.setattr(copied_functions.Templates, "call", counted)
    for f in FUNCTIONS.values():
        jit(grad(lambda x, f=f: jnp.sum(f(x)))).trace(X)
    assert fallen == []


def frames(function, *args):
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return count


@for_each(("function", "most"), [(jnp.sum, 60), (jnp.mean, 60), (nn.softmax, 120)])
def test_a_copy_runs_few_frames(function, most):
    found = []

    def f(x):
        function(x)
        found.append(frames(function, x))
        return x

    make_jaxpr(f)(X)
    assert found[0] <= most


def test_equations_have_the_line_of_their_call():
    def f(x):
        y = nn.softmax(x)
        return nn.softmax(y)

    lines = {eqn.source.line - f.__code__.co_firstlineno for eqn in make_jaxpr(f)(X).eqns}
    assert lines == {1, 2}

    def program_inside(x):
        return jnp.searchsorted(x, 0.5) + jnp.searchsorted(x, 0.7)

    for eqn in make_jaxpr(program_inside)(X[0]).eqns:
        for inner in glassjax.core.inner_jaxprs(eqn):
            assert all(each.source is None for each in inner.eqns)


def test_python_numbers_are_part_of_the_key():
    for number in (0.0, -0.0, 1, 1.0, True, 2, 2.0, float("nan"), 1j):
        found = make_jaxpr(lambda x, n=number: x * n)(X).eqns[-1].invars
        literal = [atom.val for atom in found if hasattr(atom, "val")]
        if literal:
            assert repr(literal[0]) == repr(number) or type(literal[0]) is not type(number)
    assert np.signbit(jit(lambda x: x * -0.0)(1.0))
    assert not np.signbit(jit(lambda x: x * 0.0)(1.0))
    assert jit(lambda x: x * True)(2).dtype.kind == "i"
    assert jit(lambda x: x * 1.0)(2).dtype.kind == "f"


def test_signs_of_zeros_are_part_of_the_key():
    for zero in (complex(0.0, 0.0), complex(0.0, -0.0), complex(-0.0, 0.0), 0.0, -0.0):
        (eqn,) = make_jaxpr(lambda z, zero=zero: z * zero)(1j).eqns[-1:]
        found = [complex(atom.val) for atom in eqn.invars if hasattr(atom, "val")]
        assert [np.signbit((x.real, x.imag)).tolist() for x in found] == [
            np.signbit((complex(zero).real, complex(zero).imag)).tolist()
        ]


def test_each_call_warns():
    def f(x):
        return jnp.astype(x, np.float32)

    for _ in "12":
        with pytest.warns(Warning, match="imaginary"):
            make_jaxpr(f)(1j)


def test_settings_are_part_of_the_key():
    def double(x):
        return jnp.asarray(1.0) + jnp.arange(2) * x

    for wide, dtype in ((True, np.float64), (False, np.float32)) * 2:
        with glassjax.enable_x64(wide):
            assert make_jaxpr(double)(1).out_avals[0].dtype == dtype
    precise = []
    for precision in (None, "highest"):
        with glassjax.default_matmul_precision(precision):
            precise.append(str(make_jaxpr(jnp.matmul)(X, X.T)))
    assert precise[0] != precise[1]


def test_errors_are_those_of_the_function():
    def f(x):
        return jnp.matmul(x, x)

    said = []
    for _ in "12":
        with pytest.raises((TypeError, ValueError), match="matmul") as found:
            jit(f)(X)
        said.append((type(found.value), str(found.value)))
    assert said[0] == said[1]
    assert "(2, 3)" in said[0][1]


def test_functions_of_users_run_each_time():
    ran = []

    @operation(static="combine")
    def combined(x, combine):
        return combine(x, 1.0)

    def combine(x, y):
        ran.append(1)
        return x + y

    for _ in "123":
        make_jaxpr(lambda x: combined(x, combine))(X)
    assert len(ran) == 3


def test_arguments_that_are_returned_stay_the_same():
    found = []

    def f(x):
        found.append(jnp.asarray(x) is x)
        return x

    make_jaxpr(f)(X)
    make_jaxpr(f)(X)
    assert found[0] == found[1]


def test_a_value_that_leaked_is_refused():
    kept = []

    def keep(x):
        kept.append(jnp.sin(x))
        return x

    jit(keep)(1.0)
    for f in (jnp.sin, lambda x: x + 1.0):
        with pytest.raises(glassjax.errors.UnexpectedTracerError, match="has ended"):
            jit(lambda x, f=f: f(kept[0]) + x)(1.0)


def test_clear_caches_forgets_templates():
    make_jaxpr(jnp.tanh)(X)
    assert jnp.tanh.templates._by_key
    glassjax.clear_caches()
    assert not jnp.tanh.templates._by_key


def test_threads_share_templates():
    found, barrier = [], threading.Barrier(4)

    def work(size):
        barrier.wait()
        x = jnp.ones((2, size))
        found.append(str(make_jaxpr(grad(lambda x: jnp.sum(nn.softmax(jnp.tanh(x)))))(x)))

    threads = [threading.Thread(target=work, args=(7,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_rules_of_users_primitives_may_be_defined_anew():
    cube = core.unary("cube", "The cube.", hlo="cbrt", jvp=lambda t, out, x: t * 3 * x * x)
    (eqn,) = make_jaxpr(cube)(1.0).eqns
    slope = lambda: float(jit(grad(lambda x: cube(x)))(1.0))  # noqa: E731
    assert slope() == slope() == 3.0
    core.defjvp(eqn.primitive, lambda t, out, x: t * 5 * x)
    assert slope() == 5.0


SQUARE = jnp.ones((4, 4))


@pytest.fixture
def by_rules(monkeypatch):
    """The primitives of the equations that have no template."""
    found = []

    def lower_eqn(b, eqn, operands, original=Function.lower_eqn):
        found.append(eqn.primitive.name)
        return original(b, eqn, operands)

    monkeypatch.setattr(Function, "lower_eqn", lower_eqn)
    return found


def loss(w, x):
    x = nn.softmax(jnp.tanh(x @ w + 1.0)) @ w.T
    return jnp.mean(jnp.sort(jnp.where(x > 0, x, -x).ravel())[:3] ** 2)


def test_common_operations_have_templates(by_rules):
    step = jit(lambda w, x: w - 0.1 * grad(loss)(w, x))
    first, second = (jit(lambda w, x: step(w, x)).lower(SQUARE, SQUARE).as_text() for _ in range(2))
    assert first == second
    assert not {*by_rules} - {"jit", "sort", "scatter-add"}


def test_a_new_rule_is_used_at_once():
    p = Primitive("renewed")
    for name in ("negate", "sine"):
        declare(
            p,
            abstract_eval=lambda x: [x],
            lower=lambda b, out_avals, x, name=name: b.emit(
                f"stablehlo.{name} {x.name} : tensor<f32>", *out_avals
            ),
        )
        assert name in jit(lambda x: bind(p, x)[0]).lower(jnp.float32(1)).as_text()


def test_literals_that_are_equal_but_not_the_same_have_their_own_text():
    text = jit(lambda x: [x * 0.0, x * -0.0, x * 1, x * True]).lower(jnp.float32(1)).as_text()
    assert re.findall(r"dense<(.*?)>", text) == ["0.0", "-0.0", "1.0", "1.0"]


def test_what_a_primitive_decomposes_into_has_the_line_of_the_primitive():
    def f(x):
        return jnp.sin(x)

    text = jit(f).lower(jnp.complex64(1)).as_text(debug_info=True)
    assert "stablehlo.select" in text
    lines = {int(line) for line in re.findall(r'loc\(".*?":(\d+):1\)', text)}
    assert lines == {f.__code__.co_firstlineno + 1}
