"""Derivatives of compiled functions: what is compiled, and how often."""

import gc
import re
import weakref

import numpy as np
import pytest

from glassjax_stage2 import exp, jvp, reduce_sum, sin, vmap
from glassjax_stage3 import backend, jit, jit_p, make_jaxpr, typecheck_jaxpr
from glassjax_stage4 import grad, hessian, jacrev, linearize, value_and_grad, vjp

x3 = np.array([0.5, 1.0, 2.0])


@pytest.fixture
def compiled(monkeypatch):
    """The programs that XLA has compiled since the test began."""
    texts = []
    compile_text = backend.compile

    def counting(text, *args, **kwargs):
        texts.append(text)
        return compile_text(text, *args, **kwargs)

    monkeypatch.setattr(backend, "compile", counting)
    return texts


def make_loss():
    """A function that is new, of which nothing is compiled yet."""

    def loss(w, x):
        return reduce_sum(sin(w * x) * x)

    return loss


loss = make_loss()


def gradient(w, x):
    return np.cos(w * x) * x * x


def test_jit_of_grad_compiles_one_program_once(compiled):
    step = jit(grad(make_loss()))
    for scale in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(step(scale * x3, x3), gradient(scale * x3, x3))
    assert len(compiled) == 1


def test_grad_of_jit_compiles_two_halves_once(compiled):
    """The known half runs forwards, the transpose of the other backwards."""
    jitted = jit(make_loss())
    for scale in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(grad(jitted)(scale * x3, x3), gradient(scale * x3, x3))
    assert len(compiled) == 2
    assert all("module @jit_loss" in text for text in compiled)


def test_grad_of_a_jitted_function_of_which_one_result_is_used(compiled):
    """Dropping the other result gives a smaller program, which has to be found again."""
    both = jit(lambda x: (sin(x), exp(x)))
    for x in (1.0, 2.0, 3.0):
        np.testing.assert_allclose(grad(lambda x: both(x)[0])(x), np.cos(x))
    assert len(compiled) == 2


def test_the_same_kind_of_call_compiles_nothing_new(compiled):
    loss = jit(make_loss())
    value_and_grad(loss)(x3, x3)
    vjp(loss, x3, x3)[1](1.0)
    assert len(compiled) == 4  # two halves, in one argument and in both
    for _ in range(2):
        value_and_grad(loss)(x3 + 1, x3)
        vjp(loss, x3, x3 + 1)[1](2.0)
    assert len(compiled) == 4
    value_and_grad(loss)(x3.astype(np.float32), x3.astype(np.float32))
    assert len(compiled) == 6


def test_linearize_of_jit_runs_the_unknown_half_only(compiled):
    _, f_jvp = linearize(jit(lambda x: sin(x) * exp(x)), x3)
    assert len(compiled) == 1
    expected = (np.cos(x3) + np.sin(x3)) * np.exp(x3)
    for scale in (1.0, 2.0):
        np.testing.assert_allclose(f_jvp(scale * np.ones(3)), scale * expected)
    assert len(compiled) == 2
    assert "sine" in compiled[0]
    assert "sine" not in compiled[1]


def test_a_residual_that_is_a_result_or_an_argument_is_not_returned_again(compiled):
    def products(x):
        y = exp(x)
        return x * y, y

    outs, f_vjp = vjp(jit(products), x3)
    np.testing.assert_allclose(f_vjp((x3, x3))[0], (x3 * (1 + x3) + x3) * np.exp(x3))
    (returned,) = re.findall(r"return (.*) :", compiled[0])
    assert returned.count("%") == len(outs)


def test_nothing_is_compiled_for_a_half_without_results(compiled):
    """All operands unknown: there is no known half to run."""
    jitted = jit(lambda t: 2.0 * t)
    np.testing.assert_allclose(jvp(lambda x: vjp(jitted, x)[1](3.0)[0], (1.0,), (1.0,))[0], 6.0)
    assert all("-> ()" not in text for text in compiled)


COMPOSITIONS = {
    "grad(jit)": grad(jit(loss)),
    "jit(grad)": jit(grad(loss)),
    "jit(grad(jit))": jit(grad(jit(loss))),
    "grad(jit(jit))": grad(jit(lambda w, x: jit(loss)(w, x))),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_first_derivatives(name):
    np.testing.assert_allclose(COMPOSITIONS[name](x3, x3), gradient(x3, x3))


def test_batches_of_derivatives(compiled):
    rows, loss = np.stack([x3, 2 * x3]), make_loss()
    expected = np.stack([gradient(w, x3) for w in rows])
    for mapped in (vmap(grad(jit(loss)), (0, None)), jit(vmap(grad(jit(loss)), (0, None)))):
        np.testing.assert_allclose(mapped(rows, x3), expected)
    assert len(compiled) == 3  # two halves of a batch; one program of all
    jacobian = jacrev(vmap(jit(loss), (0, None)))(rows, x3)
    np.testing.assert_allclose(np.einsum("iij->ij", jacobian), expected)


def test_second_derivatives():
    expected = np.diag(-np.sin(x3 * x3) * x3**3)
    for h in (hessian(jit(loss)), jit(hessian(loss)), jacrev(jit(grad(loss)))):
        np.testing.assert_allclose(h(x3, x3), expected, atol=1e-15)
    assert grad(grad(jit(lambda x: x * x * x)))(2.0) == 12.0
    assert grad(jit(grad(jit(lambda x: x * x * x))))(2.0) == 12.0


def test_the_halves_of_a_program_are_found_by_its_identity():
    jitted = jit(loss)

    def inner_programs():
        jaxpr = make_jaxpr(grad(jitted))(x3, x3)
        typecheck_jaxpr(jaxpr)
        return [eqn.params["jaxpr"] for eqn in jaxpr.eqns if eqn.primitive is jit_p]

    first, second = inner_programs(), inner_programs()
    assert len(first) == 2
    assert all(a is b for a, b in zip(first, second, strict=True))


def test_what_was_derived_lives_no_longer_than_the_function():
    def make():
        jitted = jit(lambda x: sin(x) * x)
        jaxpr = make_jaxpr(grad(jitted))(1.0)
        return [weakref.ref(eqn.params["jaxpr"]) for eqn in jaxpr.eqns if eqn.primitive is jit_p]

    halves = make()
    gc.collect()
    assert [half() for half in halves] == [None, None]


def test_a_jitted_function_that_closes_over_a_tracer():
    def f(w):
        return reduce_sum(vmap(jit(lambda x: sin(w * x) * x))(x3))

    for g in (grad(f), jit(grad(f)), grad(jit(f))):
        np.testing.assert_allclose(g(0.7), np.sum(np.cos(0.7 * x3) * x3**2))


def test_static_arguments():
    @jit
    def cube(x):
        return x**3

    power = jit(lambda x, n: x**n, static_argnums=1)
    assert grad(power)(2.0, 3) == grad(cube)(2.0) == 12.0


def test_integers_and_unused_arguments_and_results():
    jitted = jit(lambda x, n, unused: {"out": x * n, "n": n})
    assert grad(lambda x, n: jitted(x, n, x3)["out"])(2.0, 3) == 3.0
    x_bar, unused_bar = grad(lambda x, u: jitted(x, 3, u)["out"], (0, 1))(2.0, x3)
    assert x_bar == 3.0
    np.testing.assert_array_equal(unused_bar, np.zeros(3))
