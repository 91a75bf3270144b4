"""Arrays divided among the devices of several processes: values, shardings, parts and errors."""

from several_processes import of_both_libraries

PROGRAM = """
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


def test_arrays_are_as_jaxs(processes):
    ours, theirs = of_both_libraries(processes, PROGRAM)
    assert ours == theirs


def test_what_processes_compute_is_what_one_computes(processes):
    program = """
    mesh = minijax.make_mesh((minijax.device_count(),), ("data",))
    key = minijax.random.key(0)
    params = {"w": minijax.random.normal(key, (6, 4)), "b": jnp.zeros(4)}
    x = np.sin(np.arange(8 * 6.0)).reshape(8, 6)
    y = np.cos(np.arange(8 * 4.0)).reshape(8, 4)
    where = NamedSharding(mesh, P("data"))
    x, y = minijax.device_put((x, y), where)
    params = minijax.device_put(params, NamedSharding(mesh, P()))

    def loss(params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w"] + params["b"]) - y) ** 2)

    @minijax.jit
    def step(params, x, y):
        value, gradient = minijax.value_and_grad(loss)(params, x, y)
        return value, minijax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)

    for _ in range(5):
        value, params = step(params, x, y)
    print(f"{float(value):.6f}", np.asarray(params["w"]).round(5).tolist())
    """
    (alone,) = processes.results(program, indices=(0,), count=1)
    assert processes.results(program) == [alone] * 2
    assert processes.results(program, MINIJAX_NUM_CPU_DEVICES="4") == [alone] * 2


def test_meshes_of_one_process_and_programs_for_each_device(processes):
    program = """
    from minijax import lax

    here = minijax.sharding.Mesh(np.array(minijax.local_devices()), ("x",))
    x = minijax.device_put(np.arange(4.0) + rank, NamedSharding(here, P("x")))
    print(np.asarray(minijax.jit(jnp.cumsum)(x)).tolist(), x.is_fully_addressable)
    if rank == 0:  # a program of this process alone
        print(float(minijax.jit(lambda x: (x * x).sum())(x)))
    mesh = minijax.make_mesh((4,), ("x",))
    x = minijax.device_put(np.arange(4.0), NamedSharding(mesh, P("x")))

    def parts(f, out_specs):
        out = minijax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=out_specs)(x)
        return [shard.data.tolist() for shard in out.addressable_shards]

    print(parts(lambda x: lax.psum(x, "x"), P()))
    print(parts(lambda x: lax.ppermute(x, "x", [(i, (i + 1) % 4) for i in range(4)]), P("x")))
    """
    zero, one = processes.results(program, MINIJAX_NUM_CPU_DEVICES="2")
    assert zero == ["[0.0, 1.0, 3.0, 6.0] True", "14.0", "[[6.0], [6.0]]", "[[3.0], [0.0]]"]
    assert one == ["[1.0, 3.0, 6.0, 10.0] True", "[[6.0], [6.0]]", "[[1.0], [2.0]]"]


def test_errors_say_what_to_do(processes):
    program = """
    x = minijax.device_put(np.arange(4.0), NamedSharding(minijax.make_mesh((2,), ("x",)), P("x")))
    for attempt in (
        lambda: np.asarray(x),
        lambda: minijax.device_put(np.full(4, rank), x.sharding),
        lambda: minijax.device_put(np.ones(4 + 2 * rank), x.sharding),
        lambda: minijax.jit(lambda x: x, in_shardings=x.sharding)(np.ones(4)),
        lambda: minijax.make_array_from_process_local_data(x.sharding, np.ones(3), (4,)),
        lambda: x + minijax.device_put(1.0, minijax.local_devices()[0]),
        lambda: minijax.device_put(x, minijax.devices()[1]),
    ):
        try:
            attempt()
        except (RuntimeError, ValueError) as error:
            print(str(error).splitlines()[0])
    """
    for out in processes.results(program):
        for line, message in zip(out, MESSAGES, strict=True):
            assert message in line


MESSAGES = [
    "f32[4@x] is divided among 2 devices, of which this process has 1, so its numbers cannot",
    "put x: the value differs from that of process",
    "put x: the value differs from that of process",
    "in_shardings divides argument x among processes, and it is a ndarray, which each process has",
    "axis 0 of local_data must have size 2, the 1 part of 2 that this process has of an array of",
    "incompatible devices for `add`",
    "can only be moved to a sharding of these, in this order, found [2048]",
]
