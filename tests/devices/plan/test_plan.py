"""Plans for eight absent devices agree with what XLA reports for real ones."""

import json
import math
import subprocess
import sys
import textwrap

import jax
import numpy as np
import pytest
from eight_devices import CAN_READ, X, mesh_of
from hypothesis import given, settings
from hypothesis import strategies as st

try:
    from jaxlib._hlo import hlo_module_from_text
except ImportError:
    from jaxlib._jax import hlo_module_from_text

import glassjax
from glassjax import NamedSharding, P, ShapeDtypeStruct, lax
from glassjax import numpy as jnp
from glassjax.errors import CompileError
from glassjax.experimental import plan
from glassjax.plan.__main__ import main
from glassjax.plan.costs import Runs, axes_of, collectives, flops, groups_of
from glassjax.sharding import AbstractMesh, AxisType
from glassjax.xla.hlo import read_module

needs_devices = pytest.mark.skipif(not CAN_READ, reason="jaxlib cannot read sharded arrays")

MESH = AbstractMesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)
SIZES = {"x": 4, "y": 2}


def runs_of(text):
    """What runs in a program in HLO's text."""
    return Runs(read_module(hlo_module_from_text(text).as_serialized_hlo_module_proto()))


def layers(lib):
    """A training step of a loop over layers, for the types of its arguments by where they lie."""

    def step(weights, x):
        def loss(weights):
            def layer(x, weights):
                widen, narrow = weights
                return lib.numpy.tanh(x @ widen) @ narrow, None

            return (lib.lax.scan(layer, x, weights)[0] ** 2).mean()

        value, gradient = lib.value_and_grad(loss)(weights)
        return lib.tree.map(lambda w, g: w - 0.1 * g, weights, gradient), value

    def arguments(where):
        def struct(shape, *spec):
            return lib.ShapeDtypeStruct(shape, "float32", sharding=where(*spec))

        weights = struct((3, 64, 128), None, "x", "y"), struct((3, 128, 64), None, "y", "x")
        return weights, struct((16, 64), "x")

    return step, arguments


def on_abstract(*spec):
    return NamedSharding(MESH, P(*spec))


def on_devices(lib):
    return lambda *spec: lib.sharding.NamedSharding(mesh_of(lib), lib.sharding.PartitionSpec(*spec))


def compiled(lib):
    step, arguments = layers(lib)
    lowered = lib.jit(step, donate_argnums=0).lower(*arguments(on_devices(lib)))
    return lowered.compile()


@needs_devices
def test_the_figures_are_those_of_the_program_on_eight_devices():
    step, arguments = layers(glassjax)
    found = plan(step, *arguments(on_abstract), donate_argnums=0)
    program = compiled(glassjax)
    memory, runs = program.memory_analysis(), runs_of(program.as_text())
    assert sum(found.argument_bytes.values()) == memory.argument_size_in_bytes
    assert found.output_bytes == memory.output_size_in_bytes
    assert found.alias_bytes == memory.alias_size_in_bytes > 0
    assert found.temporary_bytes == memory.temp_size_in_bytes
    assert found.collectives == collectives(runs, SIZES)
    assert found.flops == flops(runs) == 3 * (3 * 2 * 2 * 16 * 64 * 128) // 8
    assert found.argument_bytes == {
        "weights[0]": 3 * 64 * 128 * 4 // 8,
        "weights[1]": 3 * 64 * 128 * 4 // 8,
        "x": 16 * 64 * 4 // 4,
    }


@needs_devices
def test_the_collectives_are_those_of_jax():
    ours, theirs = (runs_of(compiled(lib).as_text()) for lib in (glassjax, jax))
    assert sorted(collectives(ours, SIZES)) == sorted(collectives(theirs, SIZES))
    assert flops(ours) == flops(theirs)


# Each collective, on the part f32[8,4] of each device: its kind in HLO, axes, bytes, bytes sent.
PART = 8 * 4 * 4
COLLECTIVES = {
    "sum": (lambda x: lax.psum(x, "x"), "all-reduce", "x", PART, 2 * PART * 3 // 4),
    "sum along y": (lambda x: lax.psum(x, "y"), "all-reduce", "y", PART, PART),
    "sum along both": (
        lambda x: lax.psum(x, ("y", "x")), "all-reduce", "xy", PART, 2 * PART * 7 // 8,
    ),
    "gather": (lambda x: lax.all_gather(x, "x"), "all-gather", "x", 4 * PART, 3 * PART),
    "scatter": (
        lambda x: lax.psum_scatter(x, "y", tiled=True), "reduce-scatter", "y", PART, PART // 2,
    ),
    "exchange": (
        lambda x: lax.all_to_all(x, "x", 0, 1, tiled=True), "all-to-all", "x", PART, PART * 3 // 4,
    ),
    "pass on": (
        lambda x: lax.ppermute(x, "y", [(0, 1), (1, 0)]), "collective-permute", "y", PART, PART,
    ),
}  # fmt: skip


@needs_devices
@pytest.mark.parametrize("name", COLLECTIVES)
def test_kind_axes_and_bytes_of_each_collective(name):
    function, kind, axes, nbytes, sent = COLLECTIVES[name]

    @glassjax.jit
    @glassjax.shard_map(mesh=mesh_of(glassjax), in_specs=P("x", "y"), out_specs=P(("x", "y")))
    def f(x):
        return lax.scan(
            lambda carry, i: (carry, function(x * i)), 0, jnp.arange(5, dtype="float32")
        )[1][None]

    text = f.lower(ShapeDtypeStruct((32, 8), "float32")).compile().as_text()
    devices = math.prod(SIZES[axis] for axis in axes)
    (found,) = collectives(runs_of(text), SIZES)
    assert found == (kind, tuple(axes), devices, 5, nbytes, sent)


@needs_devices
def test_products_are_counted_as_xla_counts_them():
    def product(a, b):
        return a @ b

    def convolution(a, b):
        return lax.conv(a, b, (1, 1), "VALID")

    for f, shapes in ((product, [(16, 24), (24, 8)]), (convolution, [(2, 3, 9, 9), (5, 3, 4, 2)])):
        program = glassjax.jit(f).lower(*[ShapeDtypeStruct(s, "float32") for s in shapes]).compile()
        assert flops(runs_of(program.as_text())) == program.cost_analysis()["flops"]


def test_loops_within_loops_count_as_often_as_they_run():
    def product(x):
        return lax.fori_loop(0, 3, lambda i, x: lax.fori_loop(0, 7, lambda j, x: x @ x, x), x)

    def until(x):
        return lax.while_loop(lambda x: x.sum() < 100, lambda x: x @ x + 1, x)

    struct = ShapeDtypeStruct((8, 8), "float32", sharding=on_abstract())
    found = plan(lambda x: (product(x), until(x)), struct)
    assert found.flops == (3 * 7 + 1) * 2 * 8**3
    assert found.unbounded_loops == 1
    assert found.collectives == []
    assert "loops counted once" in str(found)


# What a program for GPUs has besides: collectives that start and are done later, with the types of
# their operands before those of their results, and products by cuBLAS.
FOR_GPUS = """
HloModule jit_f, is_scheduled=true

%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}

ENTRY %main (p: f32[8,4], q: f32[16,4]) -> (f32[8,16], s8[1024]) {
  %p = f32[8,4]{1,0} parameter(0)
  %q = f32[16,4]{1,0} parameter(1)
  %r = ((f32[8,4]{1,0}), f32[8,4]{1,0}) all-reduce-start(%p), ALONG_X, to_apply=%add
  %r.done = f32[8,4]{1,0} all-reduce-done(%r)
  %old = f32[8,4]{1,0} all-reduce-start(%p), replica_groups=[4,2]<=[8], to_apply=%add
  %old.done = f32[8,4]{1,0} all-reduce-done(%old)
  %g = ((f32[8,4]{1,0}), f32[32,4]{1,0}) all-gather-start(%p), ALONG_X, dimensions={0}
  %g.done = f32[32,4]{1,0} all-gather-done(%g)
  %c = (f32[8,4]{1,0}, f32[8,4]{1,0}, u32[], u32[]) collective-permute-start(%p), PAIRS
  %c.done = f32[8,4]{1,0} collective-permute-done(%c)
  ROOT %call = (f32[8,16]{1,0}, s8[1024]{0}) custom-call(%r.done, %q), PRODUCT
}
"""
IN_FULL = {
    "ALONG_X": "replica_groups=[2,4]<=[4,2]T(1,0)",
    "PAIRS": "source_target_pairs={{0,1},{1,0},{2,3},{3,2},{4,5},{5,4},{6,7},{7,6}}",
    "PRODUCT": 'custom_call_target="__cublas$lt$matmul", backend_config={"gemm_backend_config":'
    '{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}',
}
for name, attributes in IN_FULL.items():
    FOR_GPUS = FOR_GPUS.replace(name, attributes)


def test_programs_for_gpus_are_read():
    runs = runs_of(FOR_GPUS)
    found = [(c.kind, c.axes, c.devices, c.bytes) for c in collectives(runs, SIZES)]
    assert found == [
        ("all-reduce", ("x",), 4, 128),
        ("all-reduce", ("y",), 2, 128),
        ("all-gather", ("x",), 4, 512),
        ("collective-permute", ("y",), 2, 128),
    ]
    assert flops(runs) == 2 * 8 * 16 * 4


# Groups of devices in HLO, in the three ways in which XLA writes them.


def all_reduce(groups):
    text = FOR_GPUS[: FOR_GPUS.index("  %r =")].replace("(f32[8,16], s8[1024]) {", "f32[8,4] {")
    text += f"  ROOT %sums = f32[8,4] all-reduce(%p), {groups}, to_apply=%add\n}}"
    return runs_of(text).module.entry.instructions[-1]


def listed(groups):
    within = ["{" + ",".join(map(str, group)) + "}" for group in groups.tolist()]
    return "replica_groups={" + ",".join(within) + "}"


def counted(sizes, within, groups):
    order = [*[axis for axis in range(len(sizes)) if axis not in within], *within]
    turned = "" if len(order) == 1 else f"T({','.join(map(str, order))})"
    shape, sizes = (",".join(map(str, each)) for each in (groups.shape, sizes))
    return f"replica_groups=[{shape}]<=[{sizes}]{turned}"


def by_axes(sizes, within):
    mesh = ",".join(f"'a{axis}'={size}" for axis, size in enumerate(sizes))
    return f"replica_groups=mesh[{mesh}] {{{','.join(repr(f'a{axis}') for axis in within)}}}"


@given(st.data())
@settings(deadline=None)
def test_groups_lie_along_the_axes_that_they_were_made_for(data):
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    within = data.draw(st.permutations(range(len(sizes))))
    within = within[: data.draw(st.integers(1, len(sizes)))]
    others = [axis for axis in range(len(sizes)) if axis not in within]
    count = math.prod(sizes)
    numbers = np.arange(count).reshape(sizes).transpose([*others, *within])
    groups = numbers.reshape(-1, math.prod(sizes[axis] for axis in within))
    for text in (listed(groups), counted(sizes, within, groups), by_axes(sizes, within)):
        assert groups_of(all_reduce(text), count) == groups.tolist()
    mesh = {f"a{axis}": size for axis, size in enumerate(sizes)}
    expected = tuple(f"a{axis}" for axis in sorted(within) if sizes[axis] > 1)
    assert axes_of(groups, mesh) == expected


def test_groups_along_parts_of_axes():
    # x=8 is divided into x:(1)2, x:(2)2 and x:(4)2, the first of which varies slowest.
    parts = all_reduce("replica_groups=mesh['x'=8,'y'=2] {'x':(2)2,'y'}")
    groups = np.arange(16).reshape(2, 2, 2, 2).transpose(0, 2, 1, 3).reshape(4, 4)
    assert groups_of(parts, 16) == groups.tolist()
    everyone = all_reduce("replica_groups={}")
    assert groups_of(everyone, 3) == [range(3)]
    with pytest.raises(ValueError, match="cannot read the groups"):
        groups_of(everyone._replace(fields={}), 3)


def test_the_mesh_is_given_or_that_of_an_argument_or_in_context():
    x = ShapeDtypeStruct((8, 8), "float32")
    divided = ShapeDtypeStruct((8, 8), "float32", sharding=on_abstract("x"))
    expected = plan(jnp.sum, divided).to_dict()
    assert plan(jnp.sum, x, mesh=MESH, in_shardings=P("x")).to_dict() == expected
    jitted = glassjax.jit(jnp.sum, in_shardings=P("x"))
    with glassjax.sharding.use_abstract_mesh(MESH):
        assert plan(jitted, x).to_dict() == expected


SUM = ShapeDtypeStruct((8, 8), "float32")
ERRORS = {
    "no mesh": (lambda: plan(jnp.sum, SUM), ValueError, "there is no mesh"),
    "something else": (lambda: plan(jnp.sum, SUM, mesh=8), TypeError, "mesh must be a Mesh"),
    "nothing divided": (lambda: plan(jnp.sum, SUM, mesh=MESH), ValueError, "no array is sharded"),
    "a callback": (
        lambda: plan(
            lambda x: glassjax.debug.print("{}", x), X, mesh=MESH, in_shardings=P("x")
        ),
        ValueError, "calls Python functions",
    ),
    "an option of XLA": (
        lambda: plan(
            jnp.sum, X, mesh=MESH, in_shardings=P("x"), compiler_options={"xla_nonsense": True}
        ),
        CompileError, "xla_nonsense",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    function, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        function()


# The command line

EXAMPLE = """
    from glassjax import P, ShapeDtypeStruct

    def step_and_arguments(mesh, rows=8, name="f"):
        def f(x):
            return x.sum(0)

        f.__name__ = f.__qualname__ = name
        return f, (ShapeDtypeStruct((rows * mesh.size, 4), "float32", sharding=P("data")),)

    def wrong(mesh):
        return 3
"""


@pytest.fixture
def example(tmp_path, monkeypatch):
    (tmp_path / "example.py").write_text(textwrap.dedent(EXAMPLE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield
    sys.modules.pop("example", None)


def test_the_command_prints_json(example):
    command = [sys.executable, "-m", "glassjax.plan", "example.py", "rows=2", "name=total"]
    options = ["--mesh", "data=64,model=8", "--json"]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["name"] == "total"
    assert found["mesh"] == {"data": 64, "model": 8}
    assert found["per_device"]["argument_bytes"] == {"x": 2 * 512 * 4 * 4 // 64}
    (total,) = found["collectives"]
    assert (total["kind"], total["axes"], total["bytes"]) == ("all-reduce", ["data"], 16)


@pytest.mark.parametrize("has_rich", [True, False])
def test_the_command_prints_a_table(example, capsys, monkeypatch, has_rich):
    if not has_rich:
        monkeypatch.setitem(sys.modules, "rich", None)
    main(["example:step_and_arguments", "--mesh", "data=2"])
    shown = capsys.readouterr().out
    assert "on each device of data=2" in shown
    assert "all-reduce" in shown
    assert ("┃" in shown) == has_rich


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["example.py", "--mesh", "data"], "expected axes with their sizes"),
        (["example.py", "--mesh", "data=0"], "expected axes with their sizes"),
        (["example.py", "--mesh", "data=2,data=2"], "expected axes with their sizes"),
        (["example.py", "rows", "--mesh", "data=2"], "expected NAME=VALUE"),
        (["other.py", "--mesh", "data=2"], "there is no file 'other.py'"),
        (["other_example", "--mesh", "data=2"], "there is no module 'other_example'"),
        (["example.py:other", "--mesh", "data=2"], "has no function 'other'"),
        (["example.py:wrong", "--mesh", "data=2"], "must return a pair"),
    ],
)
def test_the_command_refuses(example, capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
