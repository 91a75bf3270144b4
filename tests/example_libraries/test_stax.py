"""`example_libraries.stax`: parameters and outputs for the same keys, beside JAX."""

import inspect
from functools import partial

import jax
import numpy as np
import pytest
from jax.example_libraries import stax as theirs
from shares import one_in

import glassjax
from glassjax import tree
from glassjax.example_libraries import optimizers
from glassjax.example_libraries import stax as ours

IMAGES = (2, 6, 5, 3)
ROWS = (4, 3)


def initializer(key, shape, dtype=np.float32):
    """The same for both, so that a test sees that it is called, and with what."""
    return np.full(shape, 0.25, dtype)


# Each case: a function from the library to a layer, and the shape of its inputs.
LAYERS = {
    "Dense": (lambda s: s.Dense(5), ROWS),
    "Dense of one example": (lambda s: s.Dense(5), (3,)),
    "Dense with initializers": (lambda s: s.Dense(5, initializer, b_init=initializer), ROWS),
    "Conv": (lambda s: s.Conv(4, (3, 2)), IMAGES),
    "Conv same": (lambda s: s.Conv(4, (3, 2), (2, 1), "SAME"), IMAGES),
    "Conv padded": (lambda s: s.Conv(4, (3, 2), padding=[(1, 2), (0, 1)]), IMAGES),
    "Conv with initializers": (
        lambda s: s.Conv(4, (3, 2), W_init=initializer, b_init=initializer),
        IMAGES,
    ),
    "GeneralConv": (
        lambda s: s.GeneralConv(("NCHW", "OIHW", "NHWC"), 4, (2, 2), strides=(1, 2)),
        (2, 3, 6, 5),
    ),
    "ConvTranspose": (lambda s: s.ConvTranspose(4, (3, 2), (2, 2)), IMAGES),
    "ConvTranspose same": (lambda s: s.ConvTranspose(4, (3, 2), (2, 1), "SAME"), IMAGES),
    "Conv1DTranspose": (lambda s: s.Conv1DTranspose(4, (3,)), (2, 5, 3)),
    "GeneralConvTranspose": (
        lambda s: s.GeneralConvTranspose(("NCHW", "OIHW", "NCHW"), 4, (2, 2)),
        (2, 3, 6, 5),
    ),
    "BatchNorm": (lambda s: s.BatchNorm(), IMAGES),
    "BatchNorm one axis": (lambda s: s.BatchNorm(axis=0, scale=False), IMAGES),
    "BatchNorm not centered": (
        lambda s: s.BatchNorm((0,), epsilon=0.1, center=False, gamma_init=initializer),
        ROWS,
    ),
    "BatchNorm neither": (lambda s: s.BatchNorm(center=False, scale=False), IMAGES),
    "MaxPool": (lambda s: s.MaxPool((2, 3)), IMAGES),
    "MaxPool same": (lambda s: s.MaxPool((2, 3), (2, 2), "SAME"), IMAGES),
    "MaxPool spec": (lambda s: s.MaxPool((2, 2), (1, 2), spec="NCHW"), (2, 3, 6, 5)),
    "SumPool": (lambda s: s.SumPool((2, 3), padding="SAME"), IMAGES),
    "AvgPool": (lambda s: s.AvgPool((2, 3), strides=(2, 1)), IMAGES),
    "AvgPool same": (lambda s: s.AvgPool((2, 3), (2, 2), "SAME"), IMAGES),
    "AvgPool spec": (lambda s: s.AvgPool((2, 2), padding="SAME", spec="NCHW"), (2, 3, 6, 5)),
    "Flatten": (lambda s: s.Flatten, IMAGES),
    "Identity": (lambda s: s.Identity, ROWS),
    "elementwise": (lambda s: s.elementwise(lambda x, by: by * x, by=3), ROWS),
    "serial": (lambda s: s.serial(s.Dense(4), s.Relu, s.serial(s.Dense(2), s.Dense(3))), ROWS),
    "parallel": (
        lambda s: s.serial(s.FanOut(3), s.parallel(s.Dense(4), s.Dense(2), s.Identity)),
        ROWS,
    ),
    "FanInSum": (
        lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(3), s.Identity), s.FanInSum),
        ROWS,
    ),
    "FanInConcat": (
        lambda s: s.serial(s.FanOut(2), s.parallel(s.Dense(2), s.Identity), s.FanInConcat()),
        ROWS,
    ),
    "FanInConcat axis": (
        lambda s: s.serial(s.FanOut(2), s.parallel(s.Tanh, s.Identity), s.FanInConcat(0)),
        ROWS,
    ),
    "shape_dependent": (
        lambda s: s.shape_dependent(lambda shape: s.serial(s.Dense(2 * shape[-1]), s.Tanh)),
        ROWS,
    ),
    "Dropout": (lambda s: s.serial(s.Dense(9), s.Dropout(0.3), s.Dense(2), s.Dropout(0.7)), ROWS),
    "Dropout side by side": (
        lambda s: s.serial(s.FanOut(2), s.parallel(s.Dropout(0.3), s.Dropout(0.3))),
        ROWS,
    ),
    "Dropout in use": (lambda s: s.Dropout(0.3, mode="test"), ROWS),
}
ACTIVATIONS = [
    *("Tanh", "Relu", "Exp", "LogSoftmax", "Softmax", "Softplus", "Sigmoid", "Elu", "LeakyRelu"),
    *("Selu", "Gelu"),
]
LAYERS |= {name: (lambda s, name=name: getattr(s, name), ROWS) for name in ACTIVATIONS}


def inputs_of(shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def assert_same(found, expected, case=""):
    assert str(tree.structure(found)) == str(jax.tree.structure(expected))
    for x, y in zip(tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-6, err_msg=case)


def leaf_shapes(shape):
    """The shapes in a shape, or in a list or tuple of them."""
    return [tuple(shape)] if isinstance(shape[0], int | np.integer) else [tuple(s) for s in shape]


@pytest.mark.parametrize("part", one_in(3, range(3)))
def test_layers_are_jaxs(part):
    """Their parameters, shapes, outputs, and their derivatives by the parameters."""
    cases = list(LAYERS)[part::3]
    shapes = {glassjax: {}, jax: {}}

    def everything(library, stax, key, other_key):
        found = {}
        for case in cases:
            make, shape = LAYERS[case]
            init_fun, apply_fun = make(stax)
            output_shape, params = init_fun(key, shape)
            apply = partial(apply_fun, **({"rng": other_key} if "Dropout" in case else {}))

            def loss(params, apply=apply, shape=shape):
                outputs = apply(params, inputs_of(shape))
                leaves = library.tree.leaves(outputs)
                return sum(library.numpy.sum(library.numpy.sin(x)) for x in leaves), outputs

            gradient, outputs = library.grad(loss, has_aux=True)(params)
            assert [x.shape for x in library.tree.leaves(outputs)] == leaf_shapes(output_shape)
            shapes[library][case] = leaf_shapes(output_shape)
            found[case] = params, outputs, gradient
        return found

    with jax.enable_x64(False), glassjax.enable_x64(False):
        results = [
            library.jit(partial(everything, library, stax))(
                library.random.key(3), library.random.key(7)
            )
            for library, stax in ((glassjax, ours), (jax, theirs))
        ]
    assert shapes[glassjax] == shapes[jax]
    for case in cases:
        assert_same(*(found[case] for found in results), case)


def test_layers_are_called_outside_of_programs():
    init_fun, apply_fun = ours.serial(ours.Dense(4), ours.Relu, ours.Dropout(0.3))
    with glassjax.enable_x64(False):
        key = glassjax.random.key(3)
        _, params = init_fun(key, ROWS)
        jitted = glassjax.jit(lambda key: init_fun(key, ROWS)[1])(key)
        assert_same(params, tree.map(np.asarray, jitted))
        outputs = apply_fun(params, inputs_of(ROWS), rng=key)
        assert_same(outputs, np.asarray(glassjax.jit(apply_fun)(params, inputs_of(ROWS), rng=key)))


def test_the_number_of_examples_may_be_open():
    # In one of them the examples themselves are counted.
    cases = [c for c, (_, shape) in LAYERS.items() if len(shape) > 1 and c != "FanInConcat axis"]

    def initialized(case, size):
        """The shape, and the program that makes the parameters."""
        make, (_, *rest) = LAYERS[case]
        shapes = []

        def init(key):
            shape, params = make(ours)[0](key, (size, *rest))
            shapes.extend(leaf_shapes(shape))
            return params

        program = glassjax.make_jaxpr(init)(glassjax.random.key(3))
        return shapes, str(program)

    for case in cases:
        (open_shape, program), (shape, other) = (initialized(case, size) for size in (-1, 2))
        assert open_shape == [(-1, *s[1:]) for s in shape], case
        assert program == other or case == "BatchNorm one axis", case


def test_parameters_have_jaxs_names_and_order():
    def parameters_of(library, name):
        return list(inspect.signature(getattr(library, name)).parameters)

    names = [name for name in ours.__all__ if callable(getattr(ours, name))]
    wrong = [name for name in names if parameters_of(ours, name) != parameters_of(theirs, name)]
    assert not wrong


def test_jaxs_names_are_there():
    public = {
        name
        for name, value in vars(theirs).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    # `from functools import ...` and the like are no names of the library
    assert {name for name in public if not hasattr(ours, name)} <= {"functools", "partial"}


def test_a_network_learns():
    """What the pieces are for: a convolutional network tells two kinds of images apart."""
    init_fun, apply_fun = ours.serial(
        *(ours.Conv(4, (3, 3), padding="SAME"), ours.BatchNorm(), ours.Relu),
        *(ours.MaxPool((2, 2), (2, 2)), ours.Flatten, ours.Dense(2), ours.LogSoftmax),
    )
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 32)
    ramp = np.linspace(-1, 1, 8, dtype=np.float32)
    images = np.where(labels[:, None, None], ramp[:, None], ramp[None, :])[..., None]
    images = (images + 0.3 * rng.normal(size=images.shape)).astype(np.float32)

    def loss(params):
        scores = apply_fun(params, images)
        return -glassjax.numpy.mean(scores[glassjax.numpy.arange(32), labels])

    opt_init, update, get_params = optimizers.adam(0.02)

    @glassjax.jit
    def start(key):
        shape, params = init_fun(key, (-1, 8, 8, 1))
        assert shape == (-1, 2)
        return opt_init(params)

    @glassjax.jit
    def step(i, state):
        value, gradient = glassjax.value_and_grad(loss)(get_params(state))
        return value, update(i, gradient, state)

    state, losses = start(glassjax.random.key(0)), []
    for i in range(30):
        value, state = step(i, state)
        losses.append(float(value))
    assert losses[-1] < 0.2 * losses[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.Dropout(0.5)[1]((), np.ones(3)), r"needs a key.*rng=key"),
        (lambda: ours.serial(ours.Dropout(0.5))[1]([()], np.ones(3)), "needs a key"),
        (lambda: ours.serial(), "serial: there must be at least one layer"),
        (lambda: ours.parallel(), "parallel: there must be at least one layer"),
        (lambda: ours.serial(ours.Dense(2), ours.Dense), "layer 1. Was a function .* not called"),
        (lambda: ours.serial(ours.Relu)[1]([], np.ones(3)), "of the 1 layers.* parameters of 0"),
        (
            lambda: ours.parallel(ours.Relu, ours.Relu)[1](((), ()), [np.ones(3)]),
            r"one input for each of the 2 layers, found 1 inputs. FanOut\(2\)",
        ),
        (lambda: ours.BatchNorm()[0](glassjax.random.key(0), (2, 3)), "axis .* out of range"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=message):
        call()
