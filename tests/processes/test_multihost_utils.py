"""Values of several processes, gathered, broadcast and compared as by JAX."""

from several_processes import of_both_libraries

PROGRAM = """
from {lib}.experimental import multihost_utils as utils

for x in [np.arange(3) + 10 * rank, np.float32(rank), jnp.ones((2, 2)) * rank, rank, True,
          np.zeros((0, 2)), np.array([rank == 1]), np.float16([1.5 + rank])]:
    for tiled in (False, True):
        out = utils.process_allgather(x, tiled=tiled)
        print(type(out).__name__, out.dtype, out.shape, out.tolist())
tree = utils.process_allgather({"a": np.arange(2) + rank, "b": [rank]})
print(sorted(tree), tree["a"].tolist(), tree["b"][0].tolist())
x = put("x")
print(utils.process_allgather(x, tiled=True).tolist() == X.tolist())
attempt("stack a whole", lambda: utils.process_allgather(x))
for x in [np.arange(3) + 10 * rank, np.float32(-0.0) if rank == 0 else np.float32(1), True,
          jnp.ones((2, 2)) * (rank - 1), {"a": rank + 5}]:
    for source in (None, rank == 0, rank == 1):
        out = utils.broadcast_one_to_all(x, is_source=source)
        print(lib.tree.map(lambda each: (type(each).__name__, each.dtype, each.tolist()), out))
utils.sync_global_devices("here")
utils.assert_equal({"a": 1, "b": np.arange(3)}, "no")
for values in [{"a": rank}, np.arange(3) + rank]:
    try:
        utils.assert_equal(values, "not the same")
    except AssertionError as error:
        print(str(error).startswith("not the same"))
try:
    utils.sync_global_devices(f"place {rank}")
except AssertionError as error:
    print("name" in str(error))
for spec in [("x",), ("y",), ("x", "y"), (None, "x"), (("x", "y"),), ()]:
    for shape in [(4, 4), (2, 8), (8,)]:
        if len(spec) > len(shape):
            continue
        data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        data = data + 100 * rank if any("x" in (names or ()) for names in spec) else data
        whole = utils.host_local_array_to_global_array(data, mesh(2, 2), P(*spec))
        show(f"{spec} {shape}", whole)
        local = utils.global_array_to_host_local_array(whole, mesh(2, 2), P(*spec))
        show("and back", local)
        print(np.array_equal(local, data), local.sharding.mesh.shape)
        show("as before", utils.host_local_array_to_global_array(whole, mesh(2, 2), P(*spec)))
        other = utils.global_array_to_host_local_array(whole, mesh(2, 2), P())
        show("all of it", other)
        show("local before", utils.global_array_to_host_local_array(local, mesh(2, 2), P(*spec)))
pair = utils.host_local_array_to_global_array((X, [X, X]), mesh(2, 2), (P("x"), P()))
print([each.sharding.spec for each in lib.tree.leaves(pair)])
attempt("None", lambda: utils.host_local_array_to_global_array(X, mesh(2, 2), None))
attempt("no prefix", lambda: utils.host_local_array_to_global_array(X, mesh(2, 2), [P(), P()]))
print(mesh(2, 2).local_mesh.devices.shape, mesh(4, 1).local_mesh.shape["x"])
"""


def test_utilities_are_as_jaxs(processes):
    ours, theirs = of_both_libraries(processes, PROGRAM)
    assert ours == theirs


def test_errors_name_the_processes_that_differ(processes):
    program = """
    from minijax.experimental import multihost_utils as utils

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
    zero, _ = processes.results(program)
    assert zero == [
        "AssertionError: steps differ: the value of ['a'][1] is 0 in process 0, and 1 in process 1",
        zero[1],
        "ValueError: broadcast_one_to_all: is_source must be true in one process, found [0, 1]",
        "TypeError: host_local_array_to_global_array: global_mesh must be a Mesh, found None of "
        "type NoneType",
        "done",
    ]
    assert zero[1].startswith("AssertionError: shapes differ: the structure, ")
    assert zero[1].endswith(" in process 0 differs from that in process 1")


NOTICE = """
import signal, time
from {lib}.experimental import multihost_utils as utils

stopped = None
for step in range(400):
    if utils.reached_preemption_sync_point(step):
        stopped = step
        break
    if step == 5 and rank == 1:
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.02)
    utils.sync_global_devices(f"step {{step}}")
steps = utils.process_allgather(np.int32(-1 if stopped is None else stopped))
print(stopped is not None, len(set(steps.tolist())) == 1, stopped is not None and stopped > 5)
"""


def test_all_stop_at_one_step_after_a_notice(processes):
    ours, theirs = of_both_libraries(processes, NOTICE)
    assert ours == theirs
    assert all("True True True" in text for text in ours)


LIVE = """
from {lib}.experimental import multihost_utils as utils

others = [each for each in lib.devices() if each.process_index != rank]
attempt("nothing here", lambda: utils.live_devices(others).__enter__())
for chosen in [lib.devices(), lib.devices()[::-1]]:
    with utils.live_devices(chosen) as devices:
        print([each.id for each in devices])
def failing():
    with utils.live_devices(lib.devices()):
        raise KeyError("mine")
attempt("an error within", failing)
print(utils.ProcessFailureError({1}).failed_devices)
"""


def test_devices_of_processes_that_live(processes):
    ours, theirs = of_both_libraries(processes, LIVE)
    assert ours == theirs
