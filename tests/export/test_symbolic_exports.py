"""Functions exported for all sizes, each library's read by the other."""

import jax
import jax.export
import jax.numpy
import numpy as np
import pytest
from libraries import LIBRARIES

import glassjax
import glassjax.export
import glassjax.numpy

SIZES = 1, 2, 5


def exported(lib, f, *shapes, constraints=(), **options):
    """`f` exported for float32 arrays of these shapes, texts of one scope."""
    scope = lib.export.SymbolicScope(constraints)
    types = [
        lib.ShapeDtypeStruct(lib.export.symbolic_shape(shape, scope=scope), np.float32)
        for shape in shapes
    ]
    return lib.export.export(lib.jit(f), **options)(*types)


def matrix(rows, columns=3):
    return np.linspace(-1, 1, rows * columns, dtype=np.float32).reshape(rows, columns)


PROGRAMS = {
    "unary": (lambda jnp, x: jnp.sin(x), ["b, 3"]),
    "product": (lambda jnp, x: x @ x.T, ["b, 3"]),
    "reduction": (lambda jnp, x: x.sum(0), ["b, 3"]),
    "coefficient": (lambda jnp, x: jnp.exp(x), ["2*b, 3"]),
    "two": (lambda jnp, x, y: (x @ y, y), ["b, 3", "3, n"]),
    "sum": (lambda jnp, x, y: (y, x), ["b, 3", "b + 1, 3"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("writer", "reader"), [(0, 0), (0, 1), (1, 0)])
def test_each_library_runs_what_the_other_exported_for_all_sizes(writer, reader, name):
    f, shapes = PROGRAMS[name]
    (written_by, jnp), (lib, _) = LIBRARIES[writer], LIBRARIES[reader]
    written = exported(written_by, lambda *args: f(jnp, *args), *shapes).serialize()
    loaded = lib.export.deserialize(written)
    for size in SIZES:
        args = [
            matrix(*[eval(text, {"b": size, "n": size + 1}) for text in shape.split(",")])
            for shape in shapes
        ]
        found = lib.tree.leaves(loaded.call(*args))
        for x, y in zip(found, jax.tree.leaves(f(jax.numpy, *args)), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5)


def test_types_are_those_of_jax():
    def types(lib, jnp):
        found = exported(lib, lambda x, y: (x @ y, y.sum(0)), "b, 3", "3, 2*n")
        return [str(aval.shape) for aval in (*found.in_avals, *found.out_avals)]

    ours, theirs = (types(*library) for library in LIBRARIES)
    assert ours == theirs


def test_sizes_without_a_solution_are_an_error_that_names_the_argument():
    double = exported(glassjax, lambda x: x, "2*b, 3")
    with pytest.raises(ValueError, match=r"no integer 'b' gives the size 2\*b.*args\[0\]"):
        double.call(matrix(3))
    square = exported(glassjax, lambda x: x, "b, b")
    with pytest.raises(ValueError, match=r"expected the size b for args\[0\]\.shape\[1\], found 4"):
        square.call(matrix(3, 4))
    with pytest.raises(TypeError, match=r"takes f32\[b,b\].*found f32\[3\]"):
        square.call(matrix(1)[0])


@pytest.mark.parametrize(
    ("constraint", "rows"), [("b >= 2", 1), ("mod(b, 2) == 0", 3), ("b <= 2*n", 9)]
)
@pytest.mark.parametrize("writer", [jax, glassjax], ids=["jax", "glassjax"])
def test_constraints_are_checked_also_when_the_bytes_are_read(writer, constraint, rows):
    program = exported(writer, lambda x: x, "b, n", constraints=[constraint])
    loaded = glassjax.export.deserialize(program.serialize())
    for called in (program, loaded):
        assert called.call(matrix(4)).shape == (4, 3)
        with pytest.raises(ValueError, match="constraint"):
            called.call(matrix(rows))


@pytest.mark.parametrize("constraint", ["mod(a, 2) == 0", "max(a, b) == 4"])
@pytest.mark.parametrize("writer", [jax, glassjax], ids=["jax", "glassjax"])
def test_constraints_on_a_variable_that_another_one_replaces_are_checked(writer, constraint):
    """No size has an `a` after the second declaration."""
    program = exported(writer, lambda x: x, "a, b", constraints=[constraint, "a == b"])
    for called in (program, glassjax.export.deserialize(program.serialize())):
        assert called.call(matrix(4, 4)).shape == (4, 4)
        with pytest.raises(ValueError, match=r"constraint|Expected"):
            called.call(matrix(3, 3))


def test_a_program_asserts_its_sizes_where_nothing_else_does():
    """jaxlib checks them when it refines the module, here in a program of JAX."""
    loaded = jax.export.deserialize(exported(glassjax, lambda x: x, "b, b").serialize())
    assert "shape_assertion" in str(loaded.mlir_module())


def test_a_size_that_no_argument_determines_is_an_error():
    with pytest.raises(ValueError, match="dimension variables b, n do not follow"):
        exported(glassjax, lambda x: x, "b + n, 3")


def test_exported_functions_are_called_with_symbolic_sizes():
    inner = glassjax.export.deserialize(exported(jax, lambda x: x @ x.T, "2*b, 3").serialize())
    outer = exported(glassjax, lambda x: inner.call(x).sum(1), "4*c, 3")
    assert str(outer.out_avals[0]) == "f32[4*c]"
    for rows in (4, 12):
        x = matrix(rows)
        np.testing.assert_allclose(outer.call(x), (x @ x.T).sum(1), rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match=r"dividing leaves mod\(c, 2\)"):
        exported(glassjax, inner.call, "c, 3")


def test_a_program_for_two_platforms():
    found = exported(glassjax, lambda x: x @ x.T, "b, 3", platforms=["cpu", "cuda"])
    for lib in (glassjax, jax):
        loaded = lib.export.deserialize(found.serialize())
        for size in SIZES:
            x = matrix(size)
            np.testing.assert_allclose(loaded.call(x), x @ x.T, rtol=1e-5)


def test_a_derivative_that_jax_exported():
    written = exported(jax, lambda x: (x @ x.T).sum(), "b, 3").serialize(vjp_order=1)
    loaded = glassjax.export.deserialize(written)
    for size in SIZES:
        x = matrix(size)
        np.testing.assert_allclose(
            glassjax.grad(loaded.call)(x),
            jax.grad(lambda x: (x @ x.T).sum())(x),
            rtol=1e-4,
            atol=1e-5,
        )
