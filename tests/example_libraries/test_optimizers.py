"""`example_libraries.optimizers`, step by step, beside JAX."""

import inspect

import jax
import numpy as np
import pytest
from jax.example_libraries import optimizers as theirs
from libraries import assert_close
from shares import one_in

import glassjax
from glassjax import tree
from glassjax.example_libraries import optimizers as ours

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
    return {f"{name}{args}": (name, args) for name in table for args in table[name]}


def of(library, table):
    return {case: getattr(library, name)(*args) for case, (name, args) in cases(table).items()}


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


@pytest.mark.parametrize("dtype", one_in(2, ["float32", "float64"]))
def test_optimizers_take_jaxs_steps(dtype):
    """One program takes a step of all of them."""
    mine, jaxs = of(ours, OPTIMIZERS), of(theirs, OPTIMIZERS)

    def steps(lib, optimizers):
        @lib.jit
        def step(i, grads, states):
            updated = {
                case: each.update_fn(i, grads, states[case]) for case, each in optimizers.items()
            }
            return updated, {case: optimizers[case].params_fn(s) for case, s in updated.items()}

        states = {case: each.init_fn(parameters(dtype)) for case, each in optimizers.items()}
        for i, grads in enumerate(gradients(dtype)):
            states, params = step(i, grads, states)
            yield states, params

    rtol = 1e-5 if dtype == "float32" else 1e-12
    for (states, params), (jax_states, jax_params) in zip(
        steps(glassjax, mine), steps(jax, jaxs), strict=True
    ):
        for case in mine:
            assert_close(states[case], jax_states[case], rtol, weak_types=False)
            assert_close(params[case], jax_params[case], rtol, weak_types=False)
            assert tree.structure(params[case]) == tree.structure(parameters(dtype))
            found, expected = states[case].packed_state, jax_states[case].packed_state
            assert str(tree.structure(found)) == str(jax.tree.structure(expected))


@pytest.mark.parametrize("name", ["momentum", "adam"])
def test_steps_outside_of_programs(name):
    init, update, get_params = getattr(ours, name)(*OPTIMIZERS[name][0])
    staged, state = glassjax.jit(update), init(parameters("float32"))
    for i, grads in enumerate(gradients("float32")):
        state, expected = update(i, grads, state), staged(i, grads, state)
        assert_close(state, tree.leaves(expected), 1e-5, weak_types=False)
    assert tree.structure(get_params(state)) == tree.structure(parameters("float32"))


def test_schedules_are_jaxs():
    def program(lib, optimizers):
        schedules = of(optimizers, SCHEDULES)

        @lib.jit
        def everything(i):
            found = {case: schedule(i) for case, schedule in schedules.items()}
            for case, schedule in schedules.items():
                init, update, get_params = optimizers.sgd(schedule)
                step = update(5, np.float32(1.0), init(np.float32(2.0)))
                found[f"sgd by {case}"] = get_params(step)
            return found

        return everything

    mine, jaxs = program(glassjax, ours), program(jax, theirs)
    eagerly = of(ours, SCHEDULES)
    for i in range(STEPS):
        found, expected = mine(i), jaxs(i)
        for case in found:
            np.testing.assert_allclose(found[case], expected[case], rtol=1e-6, err_msg=case)
            if case in eagerly and i in (0, 4):
                np.testing.assert_allclose(eagerly[case](i), expected[case], rtol=1e-6)


def test_norms_and_clipping():
    def program(optimizers):
        def everything(grads):
            clipped = [optimizers.clip_grads(grads, bound) for bound in (0.5, 100.0)]
            return optimizers.l2_norm(grads), clipped

        return everything

    found = glassjax.jit(program(ours))(parameters("float32"))
    expected = jax.jit(program(theirs))(parameters("float32"))
    assert_close(found, expected, 1e-6, weak_types=False)


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


def test_parameters_have_jaxs_names_and_defaults():
    def parameters_of(library, name):
        parameters = inspect.signature(getattr(library, name)).parameters.values()
        return [(p.name, p.default) for p in parameters]

    names = [name for name in ours.__all__ if name[0].islower()]
    wrong = [name for name in names if parameters_of(ours, name) != parameters_of(theirs, name)]
    assert not wrong


def test_sm3_accumulates_along_axes():
    rng = np.random.default_rng(2)
    x = {shape: rng.normal(size=shape).astype("float32") for shape in [(4,), (2, 3), (2, 3, 2)]}
    x = {str(shape): values for shape, values in x.items()}

    def steps(lib, optimizers):
        made = [optimizers.sm3(*args) for args in [(0.1,), (0.1, 0.5)]]
        step = lib.jit(
            lambda i, grads, states: [
                each.update_fn(i, grads, s) for each, s in zip(made, states, strict=True)
            ]
        )
        states, rng = [each.init_fn(x) for each in made], np.random.default_rng(3)
        for i in range(STEPS):
            draw = lambda x, i=i: (rng.normal(size=x.shape) * min(i, 1)).astype("float32")  # noqa: E731
            states = step(i, {name: draw(values) for name, values in x.items()}, states)
        return [each.params_fn(state) for each, state in zip(made, states, strict=True)]

    assert_close(steps(glassjax, ours), steps(jax, theirs), 1e-5, weak_types=False)
    with pytest.raises(TypeError, match="sm3: expected parameters"):
        ours.sm3(0.1).init_fn(np.float32(1))
