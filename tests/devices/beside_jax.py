"""Programs on eight devices by minijax and by JAX: results are the same, and lie alike."""

from contextlib import suppress

import jax
import numpy as np

import minijax

CAN_READ = jax.__version_info__ >= (0, 11)
X = np.arange(64, dtype=np.float32).reshape(8, 8) / 7


def mesh_of(lib, shape=(4, 2), names=("x", "y"), start=0):
    count = int(np.prod(shape))
    devices = np.array(lib.devices()[start : start + count]).reshape(shape)
    return lib.sharding.Mesh(devices, names)


def sharding(lib, *spec, **of_mesh):
    return lib.sharding.NamedSharding(mesh_of(lib, **of_mesh), lib.sharding.PartitionSpec(*spec))


def put(lib, *spec, x=X, **of_mesh):
    return lib.device_put(x, sharding(lib, *spec, **of_mesh))


def described(x):
    """Where an array lies, as both libraries say it."""
    found = x.sharding
    ids = sorted(device.id for device in found.device_set)
    index = {device.id: i for device, i in found.devices_indices_map(x.shape).items()}
    spec = [*getattr(found, "spec", ())]
    while spec and spec[-1] is None:
        spec.pop()
    return type(found).__name__, str(spec), ids, index, x.committed


ERRORS = (IndexError, ValueError, TypeError, RuntimeError, Exception)


def class_of(error):
    return next(cls for cls in ERRORS if isinstance(error, cls))


def told(lib, leaves):
    """The values, types and places of results."""
    arrays = [x for x in leaves if isinstance(x, lib.Array)]
    return [(np.asarray(x), str(x.dtype), described(x)) for x in arrays], [
        str(x) for x in leaves if not isinstance(x, lib.Array)
    ]


def outcome(lib, program):
    """The values, types and places of what a program returns, or the class of its error."""
    try:
        return told(lib, lib.tree.leaves(program(lib)))
    except Exception as error:
        return class_of(error)


def outcomes_at_once(lib, programs):
    """What programs return, by name, all computed by one; without those that cannot be traced."""
    leaves = {}

    def everything():
        for name, program in programs.items():
            with suppress(Exception):
                leaves[name] = lib.tree.leaves(program(lib))
        return {name: [x for x in found if is_traced(x)] for name, found in leaves.items()}

    def is_traced(x):
        return isinstance(x, lib.core.Tracer)

    computed = {name: iter(arrays) for name, arrays in lib.jit(everything)().items()}
    return {
        name: told(lib, [next(computed[name]) if is_traced(x) else x for x in found])
        for name, found in leaves.items()
    }


def assert_agree(found, expected):
    """Outcomes by minijax and by JAX are the same."""
    if isinstance(expected, type) or isinstance(found, type):
        assert found == expected or expected is Exception  # a class of JAX's own
        return
    (arrays, rest), (others, expected_rest) = found, expected
    assert rest == expected_rest
    assert len(arrays) == len(others)
    for (x, *of_x), (y, *of_y) in zip(arrays, others, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5)
        assert of_x == of_y, f"{of_x} is not {of_y}"


def difference(found, expected):
    try:
        assert_agree(found, expected)
    except AssertionError as error:
        return str(error) or f"{found} is not {expected}"


def assert_same(program):
    assert_agree(outcome(minijax, program), outcome(jax, program))


def assert_all_same(programs, at_once=False):
    """Each of the named programs gives the same with both libraries; all that differ are listed.

    `at_once`: JAX computes them in one program, whose results lie where they lie otherwise. Those
    that differ then are run by JAX once more, each by itself.
    """
    theirs = outcomes_at_once(jax, programs) if at_once else {}
    wrong = []
    for name, program in programs.items():
        found = outcome(minijax, program)
        if name not in theirs or difference(found, theirs[name]):
            problem = difference(found, outcome(jax, program))
            wrong += [f"{name}: {problem}"] if problem else []
    assert not wrong, "\n".join(wrong)


def with_mesh(lib, function):
    with lib.set_mesh(mesh_of(lib)):
        return function(lib)
