"""Several processes connect, share their devices, compute and end together."""

import re

from several_processes import TWO_DEVICES, joined, parts

# What two processes of two devices each print.

DEVICES = """
assert glassjax.distributed.is_initialized()
print(rank, count, glassjax.process_indices())
print([device.id for device in glassjax.devices()])
print([device.id for device in glassjax.local_devices()])
print([device.id for device in glassjax.local_devices(1)], glassjax.local_device_count())
try:
    glassjax.local_devices(2)
except ValueError as error:
    print(error)
x = jnp.arange(3.0)
print(glassjax.jit(lambda x: x + rank)(x), [device.id for device in x.devices()])
"""
OF_DEVICES = [
    [
        f"{rank} 2 [0, 1]",
        "[0, 1, 2048, 2049]",
        str([first, first + 1]),
        "[2048, 2049] 2",
        "local_devices: process_index must be one of [0, 1], found 2",
        f"[{rank}. {1 + rank}. {2 + rank}.] [{first}]",
    ]
    for rank, first in enumerate([0, 2048])
]

# Meshes of one process, and programs for each device.
MESHES = """
from glassjax import lax

here = glassjax.sharding.Mesh(np.array(glassjax.local_devices()), ("x",))
x = glassjax.device_put(np.arange(4.0) + rank, NamedSharding(here, P("x")))
print(np.asarray(glassjax.jit(jnp.cumsum)(x)).tolist(), x.is_fully_addressable)
if rank == 0:  # a program of this process alone
    print(float(glassjax.jit(lambda x: (x * x).sum())(x)))
mesh = glassjax.make_mesh((4,), ("x",))
x = glassjax.device_put(np.arange(4.0), NamedSharding(mesh, P("x")))

def parts(f, out_specs):
    out = glassjax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=out_specs)(x)
    return [shard.data.tolist() for shard in out.addressable_shards]

print(parts(lambda x: lax.psum(x, "x"), P()))
print(parts(lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]), P("x")))
"""
OF_MESHES = [
    ["[0.0, 1.0, 3.0, 6.0] True", "14.0", "[[6.0], [6.0]]", "[[3.0], [0.0]]"],
    ["[1.0, 3.0, 6.0, 10.0] True", "[[6.0], [6.0]]", "[[1.0], [2.0]]"],
]

TRAINING = """
mesh = glassjax.make_mesh((glassjax.device_count(),), ("data",))
key = glassjax.random.key(0)
params = {"w": glassjax.random.normal(key, (6, 4)), "b": jnp.zeros(4)}
x = np.sin(np.arange(8 * 6.0)).reshape(8, 6)
y = np.cos(np.arange(8 * 4.0)).reshape(8, 4)
where = NamedSharding(mesh, P("data"))
x, y = glassjax.device_put((x, y), where)
params = glassjax.device_put(params, NamedSharding(mesh, P()))

def loss(params, x, y):
    return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) - y) ** 2)

@glassjax.jit
def step(params, x, y):
    value, gradient = glassjax.value_and_grad(loss)(params, x, y)
    return value, glassjax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)

for _ in range(5):
    value, params = step(params, x, y)
print(f"{float(value):.6f}", np.asarray(params["w"]).round(5).tolist())
"""

# Each error's first line says what to do.
ERRORS = """
x = glassjax.device_put(np.arange(4.0), NamedSharding(glassjax.make_mesh((4,), ("x",)), P("x")))
for attempt in (
    lambda: np.asarray(x),
    lambda: glassjax.device_put(np.full(4, rank), x.sharding),
    lambda: glassjax.device_put(np.ones(4 + 4 * rank), x.sharding),
    lambda: glassjax.jit(lambda x: x, in_shardings=x.sharding)(np.ones(4)),
    lambda: glassjax.make_array_from_process_local_data(x.sharding, np.ones(3), (4,)),
    lambda: x + glassjax.device_put(1.0, glassjax.local_devices()[0]),
    lambda: glassjax.device_put(x, glassjax.devices()[2]),
):
    try:
        attempt()
    except (RuntimeError, ValueError) as error:
        print(str(error).splitlines()[0])
"""
OF_ERRORS = [
    r"f32\[4@x\] is sharded over 4 devices, and this process has 2, so its numbers cannot",
    "put x: the value differs from the one in process",
    "put x: the value differs from the one in process",
    "in_shardings shards argument x over processes, and it is a ndarray, which is local to each",
    "axis 0 of local_data must have size 2, the 2 parts of 1 that this process has of an array of",
    "incompatible devices for `add`",
    r"can only be moved to a sharding on these, in this order, found \[2048\]",
]

VALUES_THAT_DIFFER = """
from glassjax.experimental import multihost_utils as utils

for attempt in (
    lambda: utils.assert_equal({"a": [1, rank]}, "steps differ"),
    lambda: utils.assert_equal(np.ones(2 + rank), "shapes differ"),
    lambda: utils.broadcast_one_to_all(1, is_source=True),
    lambda: utils.host_local_array_to_global_array(np.ones(2), None, P()),
):
    try:
        attempt()
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
utils.assert_equal(np.array([np.nan, rank - rank]))
print("done")
"""
OF_VALUES_THAT_DIFFER = [
    [
        rf"AssertionError: steps differ: the value of \['a'\]\[1\] is {rank} in process {rank}, "
        rf"and {1 - rank} in process {1 - rank}",
        rf"AssertionError: shapes differ: the structure, .* in process {rank} differs from that in "
        rf"process {1 - rank}$",
        r"ValueError: broadcast_one_to_all: is_source must be true in one process, found \[0, 1\]",
        "TypeError: host_local_array_to_global_array: global_mesh must be a Mesh, found None of "
        "type NoneType",
        "done",
    ]
    for rank in (0, 1)
]

# An exception that is caught ends nobody; nobody joins twice, and computing goes on when all left.
ENDING = """
try:
    raise ValueError(rank)
except ValueError:
    print(float(glassjax.jit(lambda x: x.sum())(x)))

def join_again():
    try:
        glassjax.distributed.initialize()
    except RuntimeError as error:
        print(error)

join_again()
glassjax.distributed.shutdown()
print(glassjax.distributed.is_initialized(), jnp.ones(2) + rank)
join_again()
sys.exit(4 * rank)
"""

PROGRAMS = {
    "devices": DEVICES,
    "meshes": MESHES,
    "training": TRAINING,
    "errors": ERRORS,
    "values that differ": VALUES_THAT_DIFFER,
    "ending": ENDING,
}


def test_processes_share_their_devices_and_compute_together(processes):
    done = processes.run(joined(PROGRAMS), **TWO_DEVICES)
    assert [each.code for each in done] == [0, 4], "\n".join(each.err for each in done)
    (alone,) = processes.results(TRAINING, indices=(0,), count=1)
    for rank, each in enumerate(done):
        found = parts(each.printed.splitlines())
        assert found["devices"] == OF_DEVICES[rank]
        assert found["meshes"] == OF_MESHES[rank]
        assert found["training"] == alone
        computed = rf"False \[{1 + rank}\. {1 + rank}\.\]"
        expected = {
            "errors": OF_ERRORS,
            "values that differ": OF_VALUES_THAT_DIFFER[rank],
            "ending": ["6.0", "called before", computed, "before the first array"],
        }
        for name, messages in expected.items():
            for line, message in zip(found[name], messages, strict=True):
                assert re.search(message, line), name


def test_without_arrays_a_process_is_alone_after_shutdown(processes):
    begin = """
import glassjax, os, sys
glassjax.distributed.initialize()
if hasattr(os, "fork"):  # a fork is alone at once
    if os.fork() == 0:
        assert not glassjax.distributed.is_initialized()
        sys.exit()
    assert os.wait()[1] == 0
glassjax.distributed.shutdown()
glassjax.distributed.shutdown()
print(glassjax.process_count(), glassjax.numpy.ones(1))
"""
    assert processes.results("", begin=begin) == [["1 [1.]"]] * 2


def test_compiled_programs_are_cached_for_all_processes(processes, tmp_path):
    """One that joined itself alone has the same programs."""
    program = """
    print(count, glassjax.jit(lambda x: jnp.sin(x).sum())(jnp.arange(5.0)))
    """
    variables = {
        "GLASSJAX_ENABLE_COMPILATION_CACHE": "true",
        "GLASSJAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache"),
    }
    ((alone,),) = processes.results(program, indices=(0,), count=1, **variables)
    assert alone.startswith("1 ")
    both = processes.results(program, **variables)
    assert both == [[alone.replace("1 ", "2 ", 1)]] * 2
