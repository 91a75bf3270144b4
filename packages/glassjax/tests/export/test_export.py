"""Exported functions: serialization, and errors for damaged files."""

import ast
import contextlib
import re
import struct
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import for_each

import glassjax
import glassjax.numpy as jnp
from glassjax import (
    Array,
    ShapeDtypeStruct,
    enable_x64,
    eval_shape,
    export,
    grad,
    jit,
    lax,
    make_jaxpr,
    random,
    vmap,
)
from glassjax.export import flatbuffer
from glassjax.export.format import SCHEMA, VERSION, pack, unpack
from glassjax.tree_util import register_dataclass, register_pytree_node_class

X = np.arange(3.0)

Point = namedtuple("Point", "x y")
Unregistered = namedtuple("Unregistered", "x")
export.register_namedtuple_serialization(Point, serialized_name="test_export.Point")


@register_pytree_node_class
class Scaled:
    def __init__(self, values, by):
        self.values, self.by = values, by

    def tree_flatten(self):
        return (self.values,), self.by

    @classmethod
    def tree_unflatten(cls, by, children):
        return cls(*children, by)


export.register_pytree_node_serialization(
    Scaled,
    serialized_name="test_export.Scaled",
    serialize_auxdata=lambda by: str(by).encode(),
    deserialize_auxdata=lambda data: int(data),
)


def round_trip(f, *args, **kwargs):
    return round_trip_for(None, f, *args, **kwargs)


def round_trip_for(platforms, f, *args, **kwargs):
    exported = export.export(jit(f), platforms=platforms)(*args, **kwargs)
    return export.deserialize(exported.serialize())


DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64"]


FORGED = {
    int: [0, 1, 2, 5, 9, 127],
    bool: [False, True],
    str: ["", "*", "9" * 5000, "f4,f4", "\x00"],
    bytes: [b"", b"ML\xefR"],
    list: [[]],
    dict: [{}],
    type(None): [],
}


def forgeries(part):
    """An exported function in which one part is gone, doubled, or something else."""
    for key, child in part.items() if isinstance(part, dict) else enumerate(part):
        others = [other for other in FORGED[type(child)] if other != child]
        if isinstance(child, list) and child:
            others += [child[1:], child + child[:1]]
        for other in others:
            yield part | {key: other} if isinstance(part, dict) else put(part, key, other)
        if isinstance(child, (dict, list)):
            for other in forgeries(child):
                yield part | {key: other} if isinstance(part, dict) else put(part, key, other)


def put(items, position, item):
    return [*items[:position], item, *items[position + 1 :]]


class TestRoundTrip:
    def test_arguments_results_and_constants(self):
        shapes = [(), (3,), (2, 0), (2, 2)]
        xs = [np.ones(shape, dtype) for shape in shapes for dtype in DTYPES]
        constants = [(np.arange(x.size).reshape(x.shape) % 2).astype(x.dtype) for x in xs]

        def f(xs):
            pairs = zip(xs, constants, strict=True)
            return xs, [jnp.where(x == x, constant, x) for x, constant in pairs]

        for found, expected in zip(round_trip(f, xs).call(xs), (xs, constants), strict=True):
            for x, y in zip(found, expected, strict=True):
                assert (type(x), x.dtype) == (Array, y.dtype)
                np.testing.assert_array_equal(x, y)

    def test_keys_among_the_constants(self):
        key = random.key(3)
        returned, drawn = round_trip(lambda x: (key, random.normal(key, (2,)) + x), 1.0).call(1.0)
        assert returned == key
        np.testing.assert_allclose(drawn, random.normal(key, (2,)) + 1.0, rtol=1e-5)

    def test_numbers_arrive_to_the_last_bit(self):
        numbers = np.array([0.1, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1 / 3, 1e308])
        out = round_trip(lambda: numbers).call()
        assert np.asarray(out).tobytes() == numbers.tobytes()
        assert round_trip(lambda x: x * 0.1, 1.0).call(1.0).item() == 0.1

    def test_structures(self):
        def f(tree, *, flag):
            point, scaled, (number, nothing) = tree["p"], tree["s"], tree["t"]
            out = Scaled(point.x * scaled.by, scaled.by + 1)
            return [out, Point(number, nothing), {"a": flag, "b": ()}]

        tree = {"p": Point(X, 1), "s": Scaled(X, 3), "t": (2.0, None)}
        exported = round_trip(f, tree, flag=True)
        out = exported.call(tree, flag=False)
        assert (out[0].values.tolist(), out[0].by) == ([0.0, 3.0, 6.0], 4)
        assert out[1] == Point(2.0, None)
        assert (out[2]["a"].item(), out[2]["b"]) == (False, ())
        again = export.deserialize(exported.serialize())
        assert (again.in_tree, again.out_tree) == (exported.in_tree, exported.out_tree)

    def test_what_it_says_of_itself(self):
        def double(x, n=2):
            return x * n

        exported = round_trip(double, ShapeDtypeStruct((3,), "float32"))
        assert exported.fun_name == "double"
        assert [str(aval) for aval in exported.in_avals] == ["f32[3]"]
        assert [str(aval) for aval in exported.out_avals] == ["f32[3]"]
        assert exported.in_tree == glassjax.tree.structure(((0,), {}))
        assert exported.platforms == ("cpu",)
        assert "stablehlo.multiply" in exported.mlir_module()
        assert exported.mlir_module_serialized[:4] == b"ML\xefR"

    def test_static_arguments_are_compiled_in(self):
        exported = export.export(jit(lambda x, n: x * n, static_argnums=1))(X, 3)
        assert exported.call(X).tolist() == [0.0, 3.0, 6.0]

    def test_with_32_bits(self):
        with enable_x64(False):
            exported = round_trip(lambda x, y: x * y, X, 2.0)
            assert [str(aval) for aval in exported.in_avals] == ["f32[3]", "f32[]"]
            assert exported.call(X, 3.0).dtype == np.float32
        with pytest.raises(TypeError, match=r"takes f32\[3\] as leaf 0"):
            exported.call(X, 3.0)

    def test_methods(self):
        class Model:
            @jit(static_argnums=0)
            def predict(self, x):
                return x + 1

        assert export.export(Model().predict)(X).call(X).tolist() == [1.0, 2.0, 3.0]


PROGRAM = """
import sys
import numpy as np
from glassjax import export
exported = export.deserialize(open(sys.argv[1], "rb").read())
out = exported.call({"w": np.arange(3, dtype="f4")}, np.float32(2))
print([out["loss"].item(), *out["gradient"]["w"].tolist()])
assert "jax" not in sys.modules
"""


def test_in_another_process_without_the_function(tmp_path):
    def loss(params, x):
        return jnp.sum(jnp.tanh(params["w"] * x) ** 2)

    def step(params, x):
        value, gradient = glassjax.value_and_grad(loss)(params, x)
        return {"loss": value, "gradient": gradient}

    file = tmp_path / "step.glassjax"
    params, two = {"w": X.astype("f4")}, np.float32(2)
    file.write_bytes(export.export(jit(step))(params, two).serialize())
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file)], capture_output=True, text=True, check=True
    )
    expected = step(params, two)
    expected = [expected["loss"].item(), *expected["gradient"]["w"].tolist()]
    np.testing.assert_allclose(ast.literal_eval(run.stdout), expected, rtol=1e-4)


class TestInsideOfTransformations:
    def test_under_jit_beside_others_of_the_same_name(self):
        def f(x):
            return jit(lambda x: jnp.sin(x) + X)(x)

        first, second = round_trip(f, X), round_trip(lambda x: f(x) * 2, X)
        g = jit(lambda x: first.call(second.call(first.call(x))) + f(x))
        inner = np.sin(X) + X
        middle = 2 * (np.sin(inner) + X)
        np.testing.assert_allclose(g(X), np.sin(middle) + X + inner)
        assert "call_exported" in str(make_jaxpr(g)(X))
        assert g.lower(X).as_text().count("@exported_f_") >= 2

    def test_an_exported_function_is_exported_again(self):
        exported = round_trip(lambda x: x + 1, X)
        again = round_trip(lambda x: exported.call(x) * 2, X)
        assert again.call(X).tolist() == [2.0, 4.0, 6.0]

    def test_an_export_inside_an_export_closes_over_a_key(self):
        """The key's words were read by an operation of the function being traced."""
        key = random.key(0)

        def draw(df):
            return random.chisquare(key, df)

        outer = round_trip(lambda df: export.export(jit(draw))(df).call(df) + 1, 2.0)
        np.testing.assert_allclose(outer.call(2.0), draw(2.0) + 1, rtol=1e-6)

    def test_what_has_to_be_exported_in_its_place(self):
        exported = round_trip(jnp.sum, X)
        for f in (grad(exported.call), jit(grad(exported.call))):
            with pytest.raises(
                NotImplementedError, match=r"cannot be differentiated: .*its gradient"
            ):
                f(X)
        assert vmap(exported.call)(np.ones((2, 3))).tolist() == [3.0, 3.0]
        assert round_trip(grad(jnp.sum), X).call(X).tolist() == [1.0] * 3


class TestSeveralPlatforms:
    BOTH = ("cpu", "cuda")

    @for_each(
        ("f", "count"),
        [(jnp.sin, 1), (jnp.linalg.cholesky, 2), (lambda x: jnp.cumsum(jnp.sort(x)), 1)],
    )
    def test_one_module_has_each_different_program_once(self, f, count):
        x = np.eye(2)
        several = export.export(jit(f), platforms=self.BOTH)(x)
        for vjp_order in (0, 1):
            loaded = export.deserialize(several.serialize(vjp_order=vjp_order))
            for each in (loaded, loaded.vjp()) if vjp_order else (loaded,):
                assert each.platforms == self.BOTH
                programs = re.findall(r"func private @exported\w*_main\(", each.mlir_module())
                assert len(programs) == count
            assert loaded.call(x).tolist() == f(x).tolist()
            assert export.deserialize(loaded.serialize()).program.module == several.program.module

    def test_each_platform_has_its_own_number(self):
        choose = jit(lambda x: lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos))
        for platforms in (["cuda", "cpu"], ["cpu", "cuda", "tpu"]):
            exported = round_trip_for(platforms, choose, X)
            np.testing.assert_allclose(exported.call(X), np.sin(X))
            number = platforms.index("cpu")
            lowered = jit(exported.call).lower(X).as_text()
            assert f"stablehlo.constant dense<{number}> : tensor<i32>" in lowered

    def test_a_platform_that_is_not_among_them(self):
        exported = round_trip_for(["cuda", "tpu"], jnp.sin, X)
        message = (
            r"`sin` has platforms=\['cuda', 'tpu'\], and is called where programs run on 'cpu'. "
            r"Export it with platforms=\['cuda', 'tpu', 'cpu'\]"
        )
        for f in (exported.call, jit(exported.call)):
            with pytest.raises(ValueError, match=message):
                f(X)

    def test_the_derivative_for_other_platforms(self):
        exported = unpack(export.export(jit(jnp.sin), platforms=self.BOTH)(X).serialize())
        other = unpack(export.export(jit(jnp.sin))(X).vjp().serialize())
        with pytest.raises(ValueError, match=r"expected the derivative of `sin`"):
            export.deserialize(pack(exported | {"vjp": other}))


@register_dataclass
@dataclass
class NoName:
    x: float


SMALL = unpack(
    export.export(jit(lambda t: t["a"][1], keep_unused=True))({"a": (X, Point(1, 2))}).serialize()
) | {"mlir_module_serialized": b"ML\xefR", "writer": None}


class TestDerivatives:
    def test_those_that_are_written_are_there(self):
        def f(x, by):
            return {"y": x**4 * by["b"]}

        exported = export.export(jit(f))(2.0, {"b": 3.0})
        for order in range(3):
            loaded = export.deserialize(exported.serialize(vjp_order=order))
            derivative = loaded.call
            for _ in range(order):
                previous = derivative
                derivative = lambda x, by, f=previous: grad(  # noqa: E731
                    lambda x: jnp.sum(glassjax.tree.leaves(f(x, by))[0])
                )(x)
            expected = [48.0, 96.0, 144.0][order]
            np.testing.assert_allclose(glassjax.tree.leaves(derivative(2.0, {"b": 3.0})), expected)
            np.testing.assert_allclose(
                glassjax.tree.leaves(jit(derivative)(2.0, {"b": 3.0})), expected
            )
            assert loaded.has_vjp() is (order > 0)
            with pytest.raises(NotImplementedError, match=r"cannot be differentiated.*vjp_order=1"):
                grad(lambda x, d=derivative: jnp.sum(glassjax.tree.leaves(d(x, {"b": 3.0}))[0]))(
                    2.0
                )

    def test_arguments_and_results_that_have_none(self):
        exported = export.export(jit(lambda x, i, t: (x[i] * 2, i + 1, t["a"])))
        exported = exported(X, 1, {"a": X})
        for each in (exported, export.deserialize(exported.serialize(vjp_order=2))):
            assert grad(lambda x, f=each.call: f(x, 1, {"a": x})[0])(X).tolist() == [0.0, 2.0, 0.0]
            avals = [str(aval) for aval in (*each.vjp().in_avals, *each.vjp().out_avals)]
            assert avals[:6] == ["f64[3]", "i64[]", "f64[3]", "f64[]", "float0[]", "f64[3]"]
            assert avals[6:] == ["f64[3]", "float0[]", "f64[3]"]
            assert each.vjp().has_vjp()

    def test_mistakes(self):
        exported = export.export(jit(jnp.sin))(X)
        with pytest.raises(TypeError, match=r"vjp_order must be an int, found 1.0"):
            exported.serialize(vjp_order=1.0)
        with pytest.raises(ValueError, match=r"vjp_order must not be negative, found -1"):
            exported.serialize(vjp_order=-1)
        loaded = export.deserialize(exported.serialize(vjp_order=1))
        with pytest.raises(ValueError, match=r"`sin_vjp` was written without its derivative"):
            loaded.serialize(vjp_order=2)
        with pytest.raises(ValueError, match=r"serialize\(vjp_order=1\)"):
            loaded.vjp().vjp()

    def test_another_derivative_than_that_of_the_program(self):
        exported = unpack(export.export(jit(jnp.sin))(X).serialize())
        other = unpack(export.export(jit(jnp.sin))(1.0).vjp().serialize())
        with pytest.raises(ValueError, match=r"expected the derivative of `sin`"):
            export.deserialize(pack(exported | {"vjp": other}))


class TestWhatCannotBe:
    @for_each(
        ("make", "error", "message"),
        [
            (
                lambda: export.export(lambda x: x),
                TypeError,
                "expected what `jit` returns, found <f",
            ),
            (
                lambda: export.export(jit(len), platforms=["abacus"]),
                ValueError,
                r"export: platforms must be among .cpu., .cuda.",
            ),
            (
                lambda: export.export(jit(lambda x: Unregistered(x)))(1.0).serialize(),
                ValueError,
                "the results have a Unregistered, which has no name .*register_namedtuple_serial",
            ),
            (
                lambda: export.export(jit(lambda x: 1))(NoName(1.0)).serialize(),
                ValueError,
                "the arguments have a NoName, .*export.register_pytree_node_serialization",
            ),
            (
                lambda: export.export(jit(lambda x: 1))({(1, 2): 1.0}).serialize(),
                ValueError,
                r"the arguments have a dict with the key \(1, 2\) of type tuple",
            ),
            (
                lambda: export.register_namedtuple_serialization(Point, serialized_name="other"),
                ValueError,
                "Point is registered already, as 'test_export.Point'",
            ),
            (
                lambda: export.register_namedtuple_serialization(dict, serialized_name="other"),
                ValueError,
                "dict is not a namedtuple",
            ),
            (
                lambda: round_trip(jnp.sin, X).call(),
                TypeError,
                "takes arguments of another structure",
            ),
            (
                lambda: round_trip(jnp.sin, X).call(X.astype("f4")),
                TypeError,
                r"takes f64\[3\] as leaf 0 of its arguments, found f32\[3\]",
            ),
        ],
    )
    def test_to_export(self, make, error, message):
        with pytest.raises(error, match=message):
            make()

    def test_values_of_a_running_transformation(self):
        def f(x):
            return export.export(jit(lambda y: x * y))(1.0)

        with pytest.raises(ValueError, match=r"closes over values of a transformation"):
            jit(f)(1.0)

    def test_every_damage_is_found(self):
        data = bytes(export.export(jit(lambda x: jnp.sin(x) + X))(X).serialize())
        for position in range(0, len(data), 7):
            damaged = bytearray(data)
            damaged[position] ^= 1
            with pytest.raises(ValueError, match=r"^deserialize: "):
                export.deserialize(damaged)
        for size in range(0, len(data), 41):
            with pytest.raises(ValueError, match=r"^deserialize: "):
                export.deserialize(data[:size])
        assert export.deserialize(data).call(X).tolist() == (np.sin(X) + X).tolist()

    @pytest.mark.parametrize("share", [5, pytest.param(1, marks=pytest.mark.nightly)])
    def test_a_part_that_was_forged(self, share):
        """Whole data, whose digest is right, of which a part is gone or something else."""
        tree = {"a": [X, Scaled(X, 2)], "b": (None, Point(1.0, 2))}
        exported = export.export(jit(lambda t: (t["a"], t["b"][1].x)))(tree)
        parts = unpack(exported.serialize(vjp_order=1))
        for number, forged in enumerate(forgeries(parts)):
            try:
                loaded = export.deserialize(pack(forged))
            except (ValueError, NotImplementedError) as error:
                assert str(error).startswith("deserialize: ")  # noqa: PT017
                continue
            with contextlib.suppress(TypeError, ValueError):  # of `call`: not for such arguments
                eval_shape(loaded.call, tree)
                if number % share == 0:  # each compiles a program
                    loaded.call(tree)

    @given(st.data())
    @settings(deadline=None, max_examples=300)
    def test_bytes_without_a_digest(self, data):
        """Other writers of the format have none; the program itself is not read here."""
        flat = flatbuffer.write(SCHEMA, "Exported", SMALL)
        for _ in range(data.draw(st.integers(1, 3))):
            flat[data.draw(st.integers(0, len(flat) - 1))] = data.draw(st.integers(0, 255))
        flat = flat[: data.draw(st.integers(len(flat) - 20, len(flat)))]
        with contextlib.suppress(ValueError, NotImplementedError):
            export.deserialize(flat)

    @given(st.binary(max_size=200))
    def test_any_bytes(self, data):
        with pytest.raises(ValueError, match=r"^deserialize: the data are malformed"):
            export.deserialize(data)

    def test_references_in_circles_end(self):
        """A table whose children are itself, twice: 2 ** depth tables."""
        schema = {"Tree": {"children": flatbuffer.Vector("Tree")}}
        data = flatbuffer.write(schema, "Tree", {"children": [{}, {}]})
        (root,) = struct.unpack_from("<I", data)
        vector = root + 4 + struct.unpack_from("<I", data, root + 4)[0]
        for child in (vector + 4, vector + 8):
            struct.pack_into("<I", data, child, (root - child) % 2**32)
        with pytest.raises(ValueError, match=r"a reference to byte|nested too deeply|more refer"):
            flatbuffer.read(schema, "Tree", bytes(data))

    @pytest.mark.parametrize("size", ["2*", "b^999", "-1", "max(b)", "b" * 20_000])
    def test_a_size_that_is_malformed(self, size):
        parts = unpack(export.export(jit(jnp.sin))(X).serialize())
        parts["unique_avals"][0]["shape"] = [size]
        with pytest.raises(ValueError, match=r"deserialize: .* malformed"):
            export.deserialize(pack(parts))

    def test_types_with_sizes_that_the_program_has_not(self):
        parts = unpack(export.export(jit(jnp.sin))(X).serialize())
        parts["unique_avals"][0]["shape"] = ["2*b"]
        with pytest.raises(ValueError, match=r"should be \(tensor<\?xf64>\)"):
            export.deserialize(pack(parts)).call(X[:2])

    def test_effects_that_are_not_supported(self):
        parts = unpack(export.export(jit(jnp.sin))(X).serialize())
        effect = {"type_name": "<class 'mine.Effect'>"}
        for role in ("ordered_effects", "unordered_effects"):
            with pytest.raises(NotImplementedError, match=r"has the effects .*mine.Effect"):
                export.deserialize(pack(parts | {role: [effect]}))

    def test_a_memory_that_is_none(self):
        parts = unpack(export.export(jit(jnp.sin))(X).serialize())
        parts["unique_avals"][0]["memory_space"] = 9
        with pytest.raises(ValueError, match="the memory of an array"):
            export.deserialize(pack(parts))

    def test_another_calling_convention(self):
        parts = unpack(export.export(jit(jnp.sin))(X).serialize())
        assert parts["serialization_version"] == VERSION
        with pytest.raises(ValueError, match=r"has calling convention 11, and this .* reads 10"):
            export.deserialize(pack(parts | {"calling_convention_version": 11}))

    def test_another_program_than_the_types_say(self):
        parts = unpack(export.export(jit(jnp.sin))(X).serialize())
        other = unpack(export.export(jit(jnp.sin))(1.0).serialize())
        name = "mlir_module_serialized"
        loaded = export.deserialize(pack(parts | {name: other[name]}))
        with pytest.raises(ValueError, match=r"`sin` should be .*3xf64.*, and is .*<f64>"):
            loaded.call(X)

    def test_a_program_that_is_none(self):
        parts = unpack(export.export(jit(jnp.sin))(X).serialize())
        loaded = export.deserialize(pack(parts | {"mlir_module_serialized": b"ML\xefR"}))
        with pytest.raises(ValueError, match=r"cannot read the program of `sin`"):
            loaded.call(X)

    def test_a_class_that_is_not_registered_where_it_is_loaded(self, monkeypatch):
        from glassjax.export import nodes

        data = export.export(jit(lambda p: p.x))(Point(1.0, 2.0)).serialize()
        monkeypatch.delitem(nodes.by_name, "test_export.Point")
        with pytest.raises(ValueError, match=r"a node of the class 'test_export.Point'"):
            export.deserialize(data)
