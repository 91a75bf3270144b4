"""Collectives and host data in several processes, beside JAX."""

from several_processes import BEGIN_OF_BOTH, TWO_DEVICES, joined, parts

# Arrays divided among the devices of several processes: values, shardings, parts and errors.
ARRAYS = """
for spec in [("x",), (None, "y"), ("y", "x"), (("x", "y"),), ()]:
    x = put(*spec)
    show("put", x)
    show("sum", x.sum(0))
    show("add", x + 1)
    show("with local", x + jnp.ones(8))
    show("with numpy", lib.jit(lambda x, y: x * y)(x, X))
    show("transposed", x.T)
    show("moved", lib.device_put(x, NamedSharding(mesh(2, 2), P("y"))))
    show("copy", x.copy())
    attempt("read", lambda: np.asarray(x).tolist())
    attempt("fetched", lambda: lib.device_get(x).tolist())
    attempt("pickled", lambda: bool(__import__("pickle").dumps(x)))
    print(x, repr(x), len(x.global_shards), sum(s.data is not None for s in x.global_shards))
    print(len(x.devices()), x.addressable_data(0).shape, float(x.sum()) > 0)
x = put("x")
show("put", x.block_until_ready())
show("grad", lib.grad(lambda w: jnp.tanh(x @ w).sum())(put(None, "y")))
show("scan", lib.lax.scan(lambda c, row: (c + row.sum(), c), 0.0, x)[0])
show("out_shardings", lib.jit(lambda x: 2 * x, out_shardings=NamedSharding(mesh(2, 2), P()))(x))
divided = lib.jit(lambda x: 2 * x, in_shardings=NamedSharding(mesh(2, 2), P("y")))
attempt("in_shardings", lambda: divided(X))
attempt("in_shardings of an Array", lambda: divided(jnp.ones((8, 8))))
everywhere = lib.jit(lambda x: 2 * x, in_shardings=NamedSharding(mesh(2, 2), P()))
attempt("in_shardings that do not divide", lambda: everywhere(X))
show("donated", lib.jit(lambda x: x + 1, donate_argnums=0)(put("x")))
show("key", lib.random.uniform(lib.random.key(3), (4,)))
show("local", jnp.ones(2) + rank)
show("scalar", put(x=np.float32(3)))
show("empty", put("x", x=np.zeros((0, 3), np.float32)))
show("boolean", put("x", x=X > 3))
show("half", put("x", x=X.astype(np.float16)))
show("one axis of two", put("x", shape=(4, 1)))
attempt("uneven", lambda: put("x", x=X[:3]))
attempt("other devices", lambda: lib.jit(jnp.add)(x, lib.device_put(X, lib.local_devices()[0])))
attempt("elsewhere", lambda: lib.device_put(X, lib.devices()[0]).is_fully_addressable)
make = lib.make_array_from_process_local_data
for spec in [("x",), (None, "y"), ("y", "x"), (("x", "y"),), ()]:
    for shape in [(2, 3), (4, 4), (8, 2)]:
        data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        data = data + 100 * rank if spec and spec[0] in ("x", ("x", "y")) else data
        where = NamedSharding(mesh(2, 2), P(*spec))
        attempt(f"make {spec} {shape}", lambda: make(where, data))
        for wanted in [(4, 4), (8, 4), (8, 2), shape]:
            if wanted == shape:
                attempt(f"make {wanted}", lambda: make(where, data - 100 * rank, wanted))
            else:
                attempt(f"make {spec} {shape} {wanted}", lambda: make(where, data, wanted))
show("make tree", make({"a": NamedSharding(mesh(2, 2), P("x"))}, {"a": X})["a"])
show("callback", lib.make_array_from_callback((8, 8), where, lambda index: X[index]))
__import__(lib.__name__ + ".export")
divided = NamedSharding(mesh(2, 2), P("x", "y"))
product = lib.jit(lambda x: x @ x.T, in_shardings=divided, out_shardings=divided)
exported = lib.export.export(product)(lib.ShapeDtypeStruct(X.shape, X.dtype))
show("exported for", exported.nr_devices)
show("exported", exported.call(put("y")))
show("its gradient", lib.grad(lambda x: exported.call(x).sum())(put("x", "y")))
attempt("exported for others", lambda: exported.call(X))
"""

# Values of several processes, gathered, broadcast and compared.
UTILITIES = """
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

# Each process gives examples for its own devices; collectives combine those of all.
PMAP = """
lax, random = lib.lax, lib.random
x = np.arange(2, dtype=np.float32) + 2 * rank
rows = np.arange(6, dtype=np.float32).reshape(2, 3) + 6 * rank
keys = random.split(random.key(rank), 2)

def all_of(x):
    return lax.psum(x, "i"), lax.psum(1, "i"), lax.axis_index("i"), lax.all_gather(x, "i")

for name, out in {
    "collectives": lib.pmap(all_of, "i")(x),
    "its results": lib.pmap(all_of, "i")(lib.pmap(lambda x: x + 1, "i")(x)),
    "a later axis": lib.pmap(lambda x: x.cumsum(), "i", in_axes=1, out_axes=1)(rows.T),
    "shared": lib.pmap(
        lambda x, y: (x * y, lax.psum(x, "i")), "i", in_axes=(0, None), out_axes=(0, None)
    )(x, np.float32(3)),
    "keys": lib.pmap(lambda key: random.normal(key, (2,)), "i")(keys),
    "static": lib.pmap(lambda x, n, *, y: n * x + y, "i", static_broadcasted_argnums=1)(x, 3, y=x),
    "donated": lib.pmap(lambda x: x + 1, "i", donate_argnums=0)(lib.pmap(lambda x: 2 * x, "i")(x)),
}.items():
    for leaf in lib.tree.leaves(out):
        show(name, leaf)
"""

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

# All processes stop at one step after one of them is told to.
NOTICE = """
import signal, time
from {lib}.experimental import multihost_utils as utils

stopped = None
for step in range(10_000):
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

PROGRAMS = {
    "arrays": ARRAYS, "utilities": UTILITIES, "pmap": PMAP, "live": LIVE, "notice": NOTICE,
}  # fmt: skip


def test_processes_do_together_what_those_of_jax_do(processes):
    """Two processes of two devices each."""
    found = []
    for lib in ("glassjax", "jax"):
        begin, source = (text.replace("{lib}", lib) for text in (BEGIN_OF_BOTH, joined(PROGRAMS)))
        results = processes.results(source, begin=begin, **TWO_DEVICES)
        found.append([parts(printed) for printed in results])
    for process, (ours, theirs) in enumerate(zip(*found, strict=True)):
        assert [*ours] == [*theirs] == [*PROGRAMS]
        for name in PROGRAMS:
            assert ours[name] == theirs[name], f"{name} in process {process}"
        assert ours["notice"] == ["True True True"]
