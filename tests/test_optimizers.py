"""`minijax.example_libraries.optimizers` computes what JAX's does, step by step."""

import inspect

import jax
import numpy as np
import pytest
from jax.example_libraries import optimizers as theirs
from libraries import assert_close

import minijax
from minijax import tree
from minijax.example_libraries import optimizers as ours

OPTIMIZERS = {
    "sgd": [(0.1,)],
    "momentum": [(0.1, 0.9)],
    "nesterov": [(0.1, 0.9)],
    "adagrad": [(0.1,), (0.1, 0.5)],
    "rmsprop": [(0.1,), (0.1, 0.8, 1e-3)],
    "rmsprop_momentum": [(0.1,), (0.1, 0.8, 1e-3, 0.5)],
    "adam": [(0.1,), (0.1, 0.8, 0.99, 1e-3)],
    "adamax": [(0.1,), (0.1, 0.8, 0.99, 1e-3)],
}
SCHEDULES = {
    "constant": [(0.5,)],
    "exponential_decay": [(0.5, 3, 0.1)],
    "inverse_time_decay": [(0.5, 3, 0.7), (0.5, 3, 0.7, True)],
    "polynomial_decay": [(0.5, 4, 0.1), (0.5, 4, 0.1, 2.0)],
    "piecewise_constant": [([1, 4], [0.5, 0.2, 0.1])],
}
STEPS = 6


def cases(table):
    return [pytest.param(name, args, id=f"{name}{args}") for name in table for args in table[name]]


def parameters(dtype):
    rng = np.random.default_rng(0)
    return {
        "w": rng.normal(size=(2, 3)).astype(dtype),
        "b": (rng.normal(size=3).astype(dtype), np.zeros((), dtype)),
    }


def gradients(dtype):
    """Of every step; in the first of them some are zero, where a scale divides by zero."""
    rng = np.random.default_rng(1)
    for i in range(STEPS):
        yield jax.tree.map(
            lambda x, i=i: (rng.normal(size=x.shape) * min(i, 1)).astype(dtype), parameters(dtype)
        )


@pytest.mark.parametrize(("name", "args"), cases(OPTIMIZERS))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_optimizer_takes_jaxs_steps(name, args, dtype):
    rtol = 1e-5 if dtype == "float32" else 1e-12
    init, update, get_params = getattr(ours, name)(*args)
    jax_init, jax_update, jax_get_params = getattr(theirs, name)(*args)
    state, jax_state = init(parameters(dtype)), jax_init(parameters(dtype))
    jitted, staged = minijax.jit(update), state
    for i, grads in enumerate(gradients(dtype)):
        state, jax_state = update(i, grads, state), jax_update(i, grads, jax_state)
        staged = jitted(i, grads, staged)
        assert_close(state, jax_state, rtol, weak_types=False)
        assert_close(staged, jax_state, rtol, weak_types=False)
    found, expected = get_params(state), jax_get_params(jax_state)
    assert tree.structure(found) == tree.structure(parameters(dtype))
    assert_close(found, expected, rtol, weak_types=False)
    assert str(tree.structure(state.packed_state)) == str(
        jax.tree.structure(jax_state.packed_state)
    )


@pytest.mark.parametrize(("name", "args"), cases(SCHEDULES))
def test_a_schedule_is_jaxs(name, args):
    schedule, jaxs = getattr(ours, name)(*args), getattr(theirs, name)(*args)
    staged = minijax.jit(schedule)
    for i in range(STEPS):
        np.testing.assert_allclose(schedule(i), jaxs(i), rtol=1e-6)
        np.testing.assert_allclose(staged(i), jaxs(i), rtol=1e-6)
    decayed = ours.sgd(schedule), theirs.sgd(jaxs)
    found, expected = [
        get_params(update(5, np.float32(1.0), init(np.float32(2.0))))
        for init, update, get_params in decayed
    ]
    assert_close(found, expected, 1e-6, weak_types=False)


def test_norms_and_clipping():
    grads = parameters("float32")
    assert_close(ours.l2_norm(grads), theirs.l2_norm(grads), 1e-6, weak_types=False)
    for bound in (0.5, 100.0):
        assert_close(
            ours.clip_grads(grads, bound), theirs.clip_grads(grads, bound), 1e-6, weak_types=False
        )


def test_a_state_can_be_unpacked_and_packed():
    state = ours.adam(0.1).init_fn(parameters("float32"))
    unpacked = ours.unpack_optimizer_state(state)
    assert isinstance(unpacked["b"][0], ours.JoinPoint)
    assert len(unpacked["w"].subtree) == 3
    again = ours.pack_optimizer_state(unpacked)
    assert tree.structure(again) == tree.structure(state)
    assert_close(again, tree.leaves(state), 0, weak_types=False)
    with pytest.raises(TypeError, match="JoinPoint"):
        ours.pack_optimizer_state(parameters("float32"))


def test_wrong_structures():
    init, update, _ = ours.momentum(0.1, 0.9)
    with pytest.raises(TypeError, match="structure of the parameters"):
        update(0, [1.0], init({"w": 1.0}))

    @ours.optimizer
    def grows():
        return (lambda x: x), (lambda i, g, x: (x, x)), (lambda x: x)

    init, update, _ = grows()
    with pytest.raises(TypeError, match="keep the structure"):
        update(0, 1.0, init(1.0))


def test_wrong_schedules():
    with pytest.raises(TypeError, match="found ndarray"):
        ours.sgd(np.ones(3))
    with pytest.raises(ValueError, match="one longer"):
        ours.piecewise_constant([1, 2], [0.1])
    with pytest.raises(ValueError, match="sequence"):
        ours.piecewise_constant(1, [0.1, 0.2])


@pytest.mark.parametrize("name", [name for name in ours.__all__ if name[0].islower()])
def test_parameters_have_jaxs_names_and_defaults(name):
    mine, jaxs = [
        [(p.name, p.default) for p in inspect.signature(getattr(library, name)).parameters.values()]
        for library in (ours, theirs)
    ]
    assert mine == jaxs


@pytest.mark.parametrize("args", [(0.1,), (0.1, 0.5)])
@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 3, 2)])
def test_sm3_accumulates_along_axes(shape, args):
    rng = np.random.default_rng(2)
    x = {"w": rng.normal(size=shape).astype("float32")}
    init, update, get_params = ours.sm3(*args)
    jax_init, jax_update, jax_get_params = theirs.sm3(*args)
    state, jax_state = init(x), jax_init(x)
    for i in range(STEPS):
        grads = {"w": (rng.normal(size=shape) * min(i, 1)).astype("float32")}
        state, jax_state = minijax.jit(update)(i, grads, state), jax_update(i, grads, jax_state)
    assert_close(get_params(state), jax_get_params(jax_state), 1e-5, weak_types=False)
    with pytest.raises(TypeError, match="sm3: expected parameters"):
        init(np.float32(1))
