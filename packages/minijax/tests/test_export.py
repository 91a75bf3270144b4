"""Exported functions: what travels, what does not, and what a damaged one answers."""

import ast
import contextlib
import functools
import hashlib
import json
import operator
import subprocess
import sys
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import minijax
import minijax.numpy as jnp
from minijax import Array, ShapeDtypeStruct, enable_x64, export, grad, jit, make_jaxpr, vmap
from minijax.exporting.format import pack, unpack
from minijax.tree_util import register_dataclass, register_pytree_node_class

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
    return export.deserialize(export.export(jit(f))(*args, **kwargs).serialize())


DTYPES = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64", "complex64"]


FORGED = [None, True, -1, 2**70, 1.5, "", "*", [], {}, {"tuple": 5}, {"dict": [[[], "*"]]}]


def forgeries(header):
    """The header with each of its parts left out, and replaced by others."""
    for path in paths(header):
        for other in [..., *FORGED]:
            copy = json.loads(json.dumps(header))
            *parents, last = path
            part = functools.reduce(operator.getitem, parents, copy)
            if other is ...:
                del part[last]
            else:
                part[last] = other
            yield copy


def paths(part, path=()):
    items = part.items() if isinstance(part, dict) else enumerate(part)
    for key, child in items if isinstance(part, (dict, list)) else ():
        yield (*path, key)
        if isinstance(child, (dict, list)):
            yield from paths(child, (*path, key))


class TestRoundTrip:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 2)], ids=str)
    def test_arguments_results_and_constants(self, dtype, shape):
        constant = (np.arange(np.prod(shape)).reshape(shape) % 2).astype(dtype)
        x = np.ones(shape, dtype)
        out = round_trip(lambda x: (x, jnp.where(x == x, constant, x)), x).call(x)
        for found, expected in zip(out, (x, constant), strict=True):
            assert (type(found), found.dtype) == (Array, dtype)
            np.testing.assert_array_equal(found, expected)

    def test_numbers_arrive_to_the_last_bit(self):
        numbers = np.array([0.1, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1 / 3, 1e308])
        out = round_trip(lambda: numbers).call()
        assert np.asarray(out).tobytes() == numbers.tobytes()
        assert round_trip(lambda x: x * 0.1, 1.0).call(1.0).item() == 0.1

    def test_structures(self):
        def f(tree, *, flag):
            point, scaled, (number, nothing) = tree["p"], tree["s"], tree["t"]
            out = Scaled(point.x * scaled.by, scaled.by + 1)
            return [out, Point(number, nothing), {1: flag, 2: ()}]

        tree = {"p": Point(X, 1), "s": Scaled(X, 3), "t": (2.0, None)}
        exported = round_trip(f, tree, flag=True)
        out = exported.call(tree, flag=False)
        assert (out[0].values.tolist(), out[0].by) == ([0.0, 3.0, 6.0], 4)
        assert out[1] == Point(2.0, None)
        assert (out[2][1].item(), out[2][2]) == (False, ())
        again = export.deserialize(exported.serialize())
        assert (again.in_tree, again.out_tree) == (exported.in_tree, exported.out_tree)

    def test_what_it_says_of_itself(self):
        def double(x, n=2):
            return x * n

        exported = round_trip(double, ShapeDtypeStruct((3,), "float32"))
        assert exported.fun_name == "double"
        assert [str(aval) for aval in exported.in_avals] == ["f32[3]"]
        assert [str(aval) for aval in exported.out_avals] == ["f32[3]"]
        assert exported.in_tree == minijax.tree.structure(((0,), {}))
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
from minijax import export
exported = export.deserialize(open(sys.argv[1], "rb").read())
out = exported.call({"w": np.arange(3, dtype="f4")}, np.float32(2))
print([out["loss"].item(), *out["gradient"]["w"].tolist()])
assert "jax" not in sys.modules
"""


def test_in_another_process_without_the_function(tmp_path):
    def loss(params, x):
        return jnp.sum(jnp.tanh(params["w"] * x) ** 2)

    def step(params, x):
        value, gradient = minijax.value_and_grad(loss)(params, x)
        return {"loss": value, "gradient": gradient}

    file = tmp_path / "step.minijax"
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

    def test_what_has_to_be_exported_in_its_place(self):
        exported = round_trip(jnp.sum, X)
        for f in (grad(exported.call), jit(grad(exported.call))):
            with pytest.raises(
                NotImplementedError, match=r"cannot be differentiated: .*its gradient"
            ):
                f(X)
        with pytest.raises(NotImplementedError, match=r"cannot be mapped: .*the mapped function"):
            vmap(exported.call)(np.ones((2, 3)))
        assert round_trip(grad(jnp.sum), X).call(X).tolist() == [1.0] * 3


@register_dataclass
@dataclass
class NoName:
    x: float


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
                    lambda x: jnp.sum(minijax.tree.leaves(f(x, by))[0])
                )(x)
            expected = [48.0, 96.0, 144.0][order]
            np.testing.assert_allclose(minijax.tree.leaves(derivative(2.0, {"b": 3.0})), expected)
            np.testing.assert_allclose(
                minijax.tree.leaves(jit(derivative)(2.0, {"b": 3.0})), expected
            )
            assert loaded.has_vjp() is (order > 0)
            with pytest.raises(NotImplementedError, match=r"cannot be differentiated.*vjp_order=1"):
                grad(lambda x, d=derivative: jnp.sum(minijax.tree.leaves(d(x, {"b": 3.0}))[0]))(2.0)

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
        header, program, _ = unpack(export.export(jit(jnp.sin))(X).serialize())
        other = export.export(jit(jnp.sin))(1.0).vjp().serialize()
        with pytest.raises(ValueError, match=r"expected the derivative of `sin`"):
            export.deserialize(pack(header, program, other))


class TestWhatCannotBe:
    @pytest.mark.parametrize(
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
                r"export: platforms must be one of .cpu., .cuda.",
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

    def test_a_header_that_was_forged(self):
        """Whole data, whose digest is right, of which a part is gone or something else."""
        tree = {"a": [X, Scaled(X, 2)], "b": (None, Point(1.0, 2))}
        exported = export.export(jit(lambda t: (t["a"], t["b"][1].x)))(tree)
        header, *parts = unpack(exported.serialize(vjp_order=1))
        for forged in forgeries(header):
            try:
                loaded = export.deserialize(pack(forged, *parts))
            except ValueError as error:
                assert str(error).startswith("deserialize: ")  # noqa: PT017
                continue
            with contextlib.suppress(TypeError, ValueError):  # of `call`: not for such arguments
                loaded.call(tree)

    def test_another_program_than_the_header_says(self):
        header, *_ = unpack(export.export(jit(jnp.sin))(X).serialize())
        _, program, _ = unpack(export.export(jit(jnp.sin))(1.0).serialize())
        loaded = export.deserialize(pack(header, program))
        with pytest.raises(ValueError, match=r"`sin` should be .*3xf64.*, and is .*<f64>"):
            loaded.call(X)

    def test_a_program_that_is_none(self):
        header, *_ = unpack(export.export(jit(jnp.sin))(X).serialize())
        loaded = export.deserialize(pack(header, b"ML\xefR"))
        with pytest.raises(ValueError, match=r"cannot read the program of `sin`"):
            loaded.call(X)

    def test_other_formats(self):
        data = bytes(export.export(jit(jnp.sin))(X).serialize())
        later = data.replace(b"program 2\n", b"program 12\n", 1)
        with pytest.raises(
            ValueError, match=r"exported in format 12, .* reads format 2; use a newer"
        ):
            export.deserialize(later)
        with pytest.raises(ValueError, match=r"not a program that minijax exported"):
            export.deserialize(b"PK\x03\x04 a zip file")

    def test_the_first_format(self):
        """Programs of it say nothing of devices, shardings, derivatives and sizes."""
        header, program, _ = unpack(export.export(jit(lambda x: x + 1))(X).serialize())
        for name in ("nr_devices", "in_shardings", "out_shardings", "program_size"):
            del header[name]
        described = json.dumps(header).encode()
        content = len(described).to_bytes(8, "little") + described + program
        data = b"minijax exported program 1\n" + hashlib.sha256(content).digest() + content
        loaded = export.deserialize(data)
        assert loaded.call(X).tolist() == [1.0, 2.0, 3.0]
        assert (loaded.nr_devices, loaded.in_shardings_hlo, loaded.has_vjp()) == (1, (None,), False)

    def test_a_class_that_is_not_registered_where_it_is_loaded(self, monkeypatch):
        from minijax.exporting import format as export_format

        data = export.export(jit(lambda p: p.x))(Point(1.0, 2.0)).serialize()
        monkeypatch.delitem(export_format._by_name, "test_export.Point")
        with pytest.raises(ValueError, match=r"a node of the class 'test_export.Point'"):
            export.deserialize(data)
