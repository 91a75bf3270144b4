"""Programs on eight devices by both libraries: values and shardings are compared."""

import jax
import numpy as np
from shares import IS_NIGHT

import glassjax

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


def attempt(lib, program):
    """What a program returns, or its error."""
    try:
        return program(lib)
    except Exception as error:
        return error


def at_once(lib, programs):
    """What each program returns, or its error; they are compiled as one, which takes less time."""
    errors = {}

    def all_of_them():
        found = {name: attempt(lib, program) for name, program in programs.items()}
        errors.update({name: x for name, x in found.items() if isinstance(x, Exception)})
        return {name: x for name, x in found.items() if name not in errors}

    return lib.jit(all_of_them)() | errors


def outcome(lib, result):
    """The values, types and places of what a program returns, or the class of its error."""
    if isinstance(result, Exception):
        return next(cls for cls in ERRORS if isinstance(result, cls))
    leaves = lib.tree.leaves(result)
    arrays = [x for x in leaves if isinstance(x, lib.Array)]
    return [(np.asarray(x), str(x.dtype), described(x)) for x in arrays], [
        str(x) for x in leaves if not isinstance(x, lib.Array)
    ]


def assert_same(program):
    """A program gives the same on both."""
    compare(*(attempt(lib, program) for lib in (glassjax, jax)))


def assert_all_same(programs, part):
    """Each of the programs gives the same on both.

    JAX, and by day all parts but the first of ours, compute them as one compiled program.
    """
    theirs = at_once(jax, programs)
    if IS_NIGHT or part == 0:
        ours = {name: attempt(glassjax, program) for name, program in programs.items()}
    else:
        ours = at_once(glassjax, programs)
    wrong = []
    for name in programs:
        try:
            compare(ours[name], theirs[name])
        except AssertionError as error:
            wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)


def compare(ours, theirs):
    ours, theirs = outcome(glassjax, ours), outcome(jax, theirs)
    if isinstance(theirs, type) or isinstance(ours, type):
        assert ours == theirs or theirs is Exception  # a class of JAX's own
        return
    (arrays, rest), (expected, expected_rest) = ours, theirs
    assert rest == expected_rest
    assert len(arrays) == len(expected)
    for (x, *found), (y, *wanted) in zip(arrays, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5)
        assert found == wanted, f"{found} is not {wanted}"


def with_mesh(lib, function):
    with lib.set_mesh(mesh_of(lib)):
        return function(lib)
