"""`jax.lax` called directly: values, dtypes, transformations, and what is refused."""

import functools
import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from libraries import assert_all_same_results, refused

pytestmark = pytest.mark.bits(32)

F32 = np.float32
x = np.array([[3.0, -1.0, 2.0, -1.0], [0.5, 4.0, -2.5, 0.0], [1.0, 2.0, 2.0, 7.0]], F32)
v = np.array([2.5, -np.inf, np.nan, -0.0, 0.0, 1.0, np.inf, -3.0], F32)
i = np.array([[3, -1, 2, 7], [0, 4, -5, 0]], np.int32)
u = np.array([0, 1, 7, 128, 200, 255], np.uint8)
b = np.array([[True, False, True], [True, True, True]])
z = np.array([1 + 2j, 1 - 2j, -3j, 0.5, 1 + 1j], np.complex64)
h = x.astype(jnp.bfloat16)


def with_lax(programs):
    """Functions of a library's `lax` as programs."""
    return [lambda n, lib, program=program: program(lib.lax) for program in programs]


def refusing(programs):
    return map(refused, with_lax(programs))


REDUCTIONS = {
    "reduce_sum": (x, i, z, h, u),
    "reduce_prod": (x, i, z, h, u),
    "reduce_max": (x, i, b, h, u),
    "reduce_min": (x, i, b, h, u),
    "reduce_and": (i, b, u),
    "reduce_or": (i, b, u),
    "reduce_xor": (i, b, u),
}


# Arrays of the dtypes that they refuse.
REFUSED_REDUCTIONS = {
    "reduce_prod": (b,),
    **dict.fromkeys(("reduce_and", "reduce_or", "reduce_xor"), (x, h)),
}
BY_BITS = ("reduce_and", "reduce_or", "reduce_xor")


def axes_of(array):
    return [(), (0,), tuple(range(array.ndim)), (array.ndim - 1,)]


def test_reductions():
    programs = {}
    for name, arrays in REDUCTIONS.items():

        def reduction(n, lib, x, axes, name=name):
            return getattr(lib.lax, name)(x, axes)

        for x in (*arrays, np.zeros((0, 2), i.dtype)):
            for axes in axes_of(x):
                programs[name, x.dtype, x.shape, axes] = functools.partial(
                    reduction, x=x, axes=axes
                )
        for axes in [(2,), (0, 0), 0] if name not in BY_BITS else [0]:
            programs[name, axes] = refused(functools.partial(reduction, x=i, axes=axes))
        for x in REFUSED_REDUCTIONS.get(name, ()):
            programs[name, x.dtype] = refused(functools.partial(reduction, x=x, axes=(0,)))
    assert_all_same_results(programs)


# A combination, and the number that it leaves as it is.
COMPUTATIONS = {
    "add": (lambda lax: lax.add, 0.0),
    "mul": (lambda lax: lax.mul, 1.0),
    "max": (lambda lax: lax.max, -np.inf),
    "min": (lambda lax: lax.min, np.inf),
    "add from 2": (lambda lax: lax.add, 2.0),
    "max from 1": (lambda lax: lax.max, 1.0),
    "two steps": (lambda lax: lambda x, y: lax.add(lax.max(x, y), lax.min(x, y)), 0.0),
}


def test_reductions_by_any_computation():
    def program(n, lib, name):
        computation, start = COMPUTATIONS[name]
        combine, start_ = computation(lib.lax), F32(start)

        def function(x, dilated=True):
            out = [lib.lax.reduce(x, start_, combine, axes) for axes in [(0,), (1, 0)]]
            windows = [
                ((2, 2), (1, 1), "VALID", None, None),
                ((2, 3), (2, 1), "SAME", None, None),
            ]
            if dilated:
                windows.append(((2, 2), (1, 2), ((1, 0), (0, 2)), None, (2, 1)))
                windows.append(((1, 2), (1, 1), ((0, 0), (1, 1)), (2, 1), None))
            if "from" not in name:  # what stands at the edges has to change nothing
                for shape, strides, padding, base, dilation in windows:
                    out.append(
                        lib.lax.reduce_window(
                            x, start_, combine, shape, strides, padding, base, dilation
                        )
                    )
            return tuple(out)

        differentiable = functools.partial(function, dilated=name not in ("max", "min"))
        out, tangent = lib.jvp(differentiable, (x,), (x * x + 1,))
        batches = lib.vmap(function, -1)(np.stack([x, x + 1], -1))
        if name in ("mul", "two steps"):  # whose windows JAX cannot transpose
            return [*out, *tangent, *batches]
        finite = tuple(n.where(n.isfinite(each), n.cos(each), 0.0) for each in out)
        return [*out, *tangent, *batches, *lib.vjp(differentiable, x)[1](finite)]

    assert_all_same_results({name: functools.partial(program, name=name) for name in COMPUTATIONS})


def test_reductions_of_several_arrays():
    def largest(lax):
        def combine(a, b):
            keep = lax.gt(a[0], b[0])
            return [lax.select(keep, p, q) for p, q in zip(a, b, strict=True)]

        return combine

    numbers = np.arange(12, dtype=np.int32).reshape(3, 4)
    starts = [F32(-np.inf), np.int32(-1)]

    def windows(lib, shape, strides, padding):
        return lib.lax.reduce_window(x, F32(0), lib.lax.add, shape, strides, padding)

    assert_all_same_results(
        [
            lambda n, lib: lib.lax.reduce([x, numbers], starts, largest(lib.lax), (0,)),
            lambda n, lib: lib.lax.reduce_window(
                [x, numbers], starts, largest(lib.lax), (2, 2), (1, 1), "SAME"
            ),
            lambda n, lib: lib.lax.reduce(i, 1, lib.lax.bitwise_xor, (1,)),
            lambda n, lib: lib.lax.reduce(b, True, lib.lax.bitwise_and, (0, 1)),
            lambda n, lib: lib.lax.reduce(x, 0, lib.lax.add, (0,)),
            lambda n, lib: lib.lax.reduce(i, 0.0, lib.lax.add, (0,)),
            refused(lambda n, lib: lib.lax.reduce([x], 0.0, lib.lax.add, (0,))),
            refused(lambda n, lib: lib.lax.reduce(x, F32([0, 0]), lib.lax.add, (0,))),
            refused(lambda n, lib: lib.lax.reduce(x, F32(0), lib.lax.add, (2,))),
            refused(lambda n, lib: windows(lib, (2,), (1,), "SAME")),
            refused(lambda n, lib: windows(lib, (2, 2), (0, 1), "SAME")),
            refused(lambda n, lib: windows(lib, (2, 2), (1, 1), "ODD")),
            lambda n, lib: windows(lib, (5, 2), (1, 1), "VALID"),
        ]
    )


SCANS = {
    "cumsum": (x, i, z, u, h),
    "cumprod": (x, i, z, u),
    "cummax": (x, i, u, v, h),
    "cummin": (x, i, u, v),
    "cumlogsumexp": (x, v),
}


@pytest.mark.parametrize("name", SCANS)
def test_cumulative_functions(name):
    def of(axis, reverse, array):
        return lambda n, lib: getattr(lib.lax, name)(array, axis=axis, reverse=reverse)

    def derivatives(n, lib):
        def f(x):
            scan = getattr(lib.lax, name)
            return scan(x, 0), scan(x, 1, reverse=True)

        out, tangent = lib.jvp(f, (x,), (x * 0.5 + 1,))
        pull = lambda x: lib.vjp(f, x)[1](tuple(map(n.cos, out)))  # noqa: E731
        moved = lib.vmap(f, 1)(np.stack([x, 2 * x], 1))
        return lib.tree.leaves([out, tangent, lib.jvp(pull, (x,), (x + 1,)), moved])

    programs = [
        of(axis, reverse, array)
        for array, reverse in itertools.product(SCANS[name], (False, True))
        for axis in range(array.ndim)
    ]
    programs += [refused(of(axis, False, x)) for axis in (2, -3)]
    if name in ("cumsum", "cumprod"):
        programs.append(refused(of(0, False, b)))
    assert_all_same_results(programs)
    assert_all_same_results([derivatives], rtol=2e-5)


SORTS = [
    lambda lax: lax.sort(x),
    lambda lax: lax.sort(x, dimension=0),
    lambda lax: lax.sort(v),
    lambda lax: lax.sort(i, dimension=-2, is_stable=False),
    lambda lax: lax.sort(z),
    lambda lax: lax.sort(b),
    lambda lax: lax.sort(u[::-1]),
    lambda lax: lax.sort(h, dimension=0),
    lambda lax: lax.sort((i[0], x[0])),
    lambda lax: lax.sort([x[0], i[0]], num_keys=2),
    lambda lax: lax.sort((x[2], i[1], i[0]), num_keys=2),
    lambda lax: lax.sort((x, x * 2, x + 1), dimension=1, num_keys=1),
    lambda lax: lax.sort(np.zeros((0, 2), F32)),
    lambda lax: lax.sort_key_val(x, -x),
    lambda lax: lax.sort_key_val(x, x * 2, dimension=0),
    lambda lax: lax.sort_key_val(i[1], x[0], is_stable=False),
    lambda lax: lax.top_k(x, 2),
    lambda lax: lax.top_k(x, 2, axis=0),
    lambda lax: lax.top_k(v, 8),
    lambda lax: lax.top_k(i, 0),
    lambda lax: lax.top_k(u, 3),
    lambda lax: lax.top_k(h, 1),
    lambda lax: lax.approx_max_k(x, 2),
    lambda lax: lax.approx_max_k(x, 2, reduction_dimension=0, recall_target=0.9),
    lambda lax: lax.approx_min_k(x, 3),
    lambda lax: lax.approx_min_k(x, 1, reduction_dimension=0),
    lambda lax: lax.argmax(x, 0, np.int32),
    lambda lax: lax.argmin(x, 1, np.uint8),
    lambda lax: lax.argmax(v, 0, int),
    lambda lax: lax.argmin(v, 0, np.int32),
    lambda lax: lax.argmax(b, 1, np.int32),
    lambda lax: lax.argmin(i, 0, np.int16),
    lambda lax: lax.argmax(h, 1, np.int32),
]
NO_SORTS = [
    lambda lax: lax.sort(F32(1)),
    lambda lax: lax.sort(x, dimension=2),
    lambda lax: lax.sort(()),
    lambda lax: lax.sort((x, i)),
    lambda lax: lax.sort((x, x), num_keys=3),
    lambda lax: lax.sort((x, x), num_keys=0),
    lambda lax: lax.sort_key_val(x, x[0]),
    lambda lax: lax.top_k(x, 5),
    lambda lax: lax.top_k(x, -1),
    lambda lax: lax.top_k(F32(1), 1),
    lambda lax: lax.top_k(z, 1),
    lambda lax: lax.approx_max_k(x, 5),
    lambda lax: lax.argmax(x, 2, np.int32),
    lambda lax: lax.argmax(x, 0, np.float32),
    lambda lax: lax.argmin(z, 0, np.int32),
    lambda lax: lax.argmin(np.zeros((0, 2), F32), 0, np.int32),
]


def test_sorting():
    assert_all_same_results([*with_lax(SORTS), *refusing(NO_SORTS)])


def test_sorting_is_transformed():
    y = np.array([[3.0, -1.0, 2.0, -1.5], [0.5, 4.0, -2.5, 0.0]], F32)

    def program(n, lib):
        def f(x):
            second = lib.lax.sort((n.sin(x), x * x), dimension=0)
            return (
                lib.lax.sort(x * x),
                second,
                lib.lax.sort_key_val(x, x * x * x),
                lib.lax.top_k(x * x, 2)[0],
                lib.lax.approx_max_k(x, 1)[0],
            )

        out, tangent = lib.jvp(f, (y,), (y + 1,))
        pull = lambda x: lib.vjp(f, x)[1](lib.tree.map(n.cos, out))  # noqa: E731
        batch = np.stack([y, -y, y * y], 1)
        moved = lib.vmap(lambda x: (f(x), lib.lax.argmax(x, 1, np.int32)), 1)(batch)
        return lib.tree.leaves([out, tangent, lib.jvp(pull, (y,), (y * 2,)), moved])

    assert_all_same_results([program])


def test_associative_scans():
    def pairs(n):
        def combine(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]

        return combine

    def program(n, lib):
        scan = lib.lax.associative_scan
        affine = (x, x - 1)
        out = [
            scan(n.add, x),
            scan(n.maximum, i, reverse=True, axis=1),
            scan(n.add, n.asarray(x[:1])),
        ]
        out += [scan(pairs(n), affine, reverse=r, axis=1) for r in (False, True)]
        strings = scan(lambda a, b: n.matmul(a, b), np.stack([x[:2, :2]] * 5))
        slopes = lib.grad(lambda y: (scan(pairs(n), (y, y - 1))[1] ** 2).sum())(x)
        return lib.tree.leaves([out, strings, slopes])

    wrong = [
        lambda lax: lax.associative_scan(3, x),
        lambda lax: lax.associative_scan(lax.add, {"a": x, "b": x[:2]}),
        lambda lax: lax.associative_scan(lax.add, x, axis=2),
        lambda lax: lax.associative_scan(lax.add, F32(1)),
    ]
    assert_all_same_results([program, *refusing(wrong)])


BITS = [
    lambda lax: lax.iota(np.int32, 5),
    lambda lax: lax.iota(F32, 3),
    lambda lax: lax.iota("uint8", 0),
    lambda lax: lax.iota(np.complex64, 2),
    lambda lax: lax.broadcasted_iota(np.int32, (2, 3), 1),
    lambda lax: lax.clamp(F32(-1), x, F32(2)),
    lambda lax: lax.clamp(x - 1, x * 2, x + 1),
    lambda lax: lax.clamp(np.int32(0), i, np.int32(3)),
    lambda lax: lax.clamp(F32(0), v, F32(1)),
    lambda lax: lax.bitcast_convert_type(x, np.int32),
    lambda lax: lax.bitcast_convert_type(x, np.uint8),
    lambda lax: lax.bitcast_convert_type(i.view(np.uint8).reshape(2, 4, 4), F32),
    lambda lax: lax.bitcast_convert_type(h, np.int16),
    lambda lax: lax.bitcast_convert_type(u.reshape(3, 2), np.int16),
    lambda lax: lax.shift_left(i, np.int32([1, 31, 32, 40])[None] * np.ones_like(i)),
    lambda lax: lax.shift_right_arithmetic(i, np.full_like(i, 1)),
    lambda lax: lax.shift_right_logical(i, np.full_like(i, 1)),
    lambda lax: lax.shift_right_arithmetic(u, np.full_like(u, 2)),
    lambda lax: lax.shift_right_logical(u, np.full_like(u, 9)),
    lambda lax: lax.shift_right_arithmetic(i, np.full_like(i, 33)),
    lambda lax: lax.clz(np.abs(i)),
    lambda lax: lax.clz(u),
    lambda lax: lax.population_count(i),
    lambda lax: lax.population_count(u),
    lambda lax: lax.rem(i, np.full_like(i, -3)),
    lambda lax: lax.rem(x, np.full_like(x, -1.5)),
    lambda lax: lax.rem(v, v[::-1].copy()),
    lambda lax: lax.integer_pow(x, 3),
    lambda lax: lax.integer_pow(x, -2),
    lambda lax: lax.integer_pow(x, 0),
    lambda lax: lax.integer_pow(i, 5),
    lambda lax: lax.integer_pow(z, 4),
    lambda lax: lax.integer_pow(x, 1),
    lambda lax: lax.is_finite(v),
    lambda lax: lax.is_finite(h),
    lambda lax: lax.reduce_precision(x + 0.1, 5, 4),
    lambda lax: lax.reduce_precision(F32([1e30, 1e-30, 70000.0, np.nan]), 5, 10),
    lambda lax: lax.reduce_precision(h, 8, 3),
    lambda lax: lax.expand_dims(x, (0, -1)),
    lambda lax: lax.expand_dims(x, [1]),
    lambda lax: lax.expand_dims(F32(2), (0, 1)),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.int32([2, 2, 2]), 4),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.int32([[1, 1], [0, 1]]), 3),
]
NO_BITS = [
    lambda lax: lax.iota(np.int32, -1),
    lambda lax: lax.iota(bool, 2),
    lambda lax: lax.iota(np.int32, 1.5),
    lambda lax: lax.broadcasted_iota(np.int32, (2, 3), 2),
    lambda lax: lax.broadcasted_iota(np.int32, (2, 3), -1),
    lambda lax: lax.bitcast_convert_type(u, np.int32),
    lambda lax: lax.bitcast_convert_type(b, np.int8),
    lambda lax: lax.bitcast_convert_type(z, np.int32),
    lambda lax: lax.shift_left(x, x),
    lambda lax: lax.shift_right_logical(b, b),
    lambda lax: lax.clz(x),
    lambda lax: lax.population_count(b),
    lambda lax: lax.rem(z, z),
    lambda lax: lax.rem(b, b),
    lambda lax: lax.integer_pow(i, -1),
    lambda lax: lax.integer_pow(b, 2),
    lambda lax: lax.is_finite(z),
    lambda lax: lax.reduce_precision(x, 0, 4),
    lambda lax: lax.reduce_precision(x, 4, -1),
    lambda lax: lax.reduce_precision(i, 4, 4),
    lambda lax: lax.expand_dims(x, (0, 0)),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.float32([0, 1]), 2),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.int32(1), 2),
    lambda lax: lax.linalg.lu_pivots_to_permutation(np.int32([0, 1, 2]), 2),
    lambda lax: lax.lgamma(z),
    lambda lax: lax.neg(b),
    lambda lax: lax.add(x, "a"),
]


def test_bits_and_numbers():
    assert_all_same_results([*with_lax(BITS), *refusing(NO_BITS)])


def test_bits_and_numbers_are_transformed():
    def program(n, lib):
        lax = lib.lax

        def f(x):
            return (
                lax.clamp(F32(-0.7), x, F32(2.2)),
                lax.clamp(x - 1, x * x, x + 1),
                lax.rem(x * 3, x + 4.3),
                lax.integer_pow(x, 4),
                lax.integer_pow(x + 9, -2),
                lax.reduce_precision(x * x, 6, 12),
                lax.expand_dims(x * x, (0, 2)),
            )

        out, tangent = lib.jvp(f, (x,), (x + 1,))
        pull = lambda x: lib.vjp(f, x)[1](tuple(map(n.cos, out)))  # noqa: E731
        batches = lib.vmap(
            lambda x, i: (
                f(x),
                lax.clz(i),
                lax.bitcast_convert_type(i, np.uint8),
                lax.shift_left(i, i * 0 + 2),
                lax.linalg.lu_pivots_to_permutation(lax.clamp(np.int32(0), i, np.int32(3)), 4),
            ),
            (0, 1),
        )(x[:2], np.abs(i).reshape(4, 2))
        return lib.tree.leaves([out, tangent, lib.jvp(pull, (x,), (x * 2,)), batches])

    assert_all_same_results([program])


SPECIAL = {
    "erf_inv": (F32([-1, -0.9, -0.1, 0, 0.3, 0.999, 1, 1.5, np.nan]),),
    "lgamma": (F32([-1.5, -0.2, 0, 0.1, 1, 2, 3.7, 50, np.inf]),),
    "digamma": (F32([-1.5, -0.2, 0.1, 1, 2, 3.7, 50, np.inf]),),
    "bessel_i0e": (F32([-30, -2, -0.1, 0, 0.1, 3, 9, 100]),),
    "bessel_i1e": (F32([-30, -2, -0.1, 0, 0.1, 3, 9, 100]),),
    "zeta": (F32([1.5, 2, 3, 4.5, 1, 0.5]), F32([0.5, 1, 2.5, 10, 2, 2])),
    "polygamma": (F32([1, 2, 3, 0]), F32([0.5, 1, 2.5, 10])),
}


def test_special_functions():
    def program(n, lib, name):
        *before, last = SPECIAL[name]
        inner = [each[1:4] for each in (*before, last)]
        f = getattr(lib.lax, name)
        if name == "zeta":
            return [f(*before, last)]
        slopes = lib.grad(lambda y: f(*inner[:-1], y).sum())
        y = inner[-1]
        return [f(*before, last), *lib.jvp(slopes, (y,), (y + 1,))]

    programs = {name: functools.partial(program, name=name) for name in SPECIAL}
    assert_all_same_results(programs, rtol=4e-5)


PLAIN = [
    lambda lax: lax.padtype_to_pads((5, 6), (2, 3), (2, 1), "SAME"),
    lambda lax: lax.padtype_to_pads((5, 6), (2, 3), (2, 1), "SAME_LOWER"),
    lambda lax: lax.padtype_to_pads([5, 6], [2, 3], [3, 4], "valid"),
    lambda lax: lax.padtype_to_pads((5,), (9,), (4,), "SAME"),
    lambda lax: lax.padtype_to_pads((0,), (2,), (1,), "SAME"),
    lambda lax: lax.conv_general_permutations(("NHWC", "HWIO", "NHWC")),
    lambda lax: lax.conv_general_permutations(("NCHW", "OIHW", "NHCW")),
    lambda lax: tuple(lax.conv_dimension_numbers((1, 2, 3), (4, 2, 1), None)),
    lambda lax: tuple(lax.conv_dimension_numbers((1,) * 4, (1,) * 4, ("NHWC", "HWIO", "NHWC"))),
    lambda lax: tuple(lax.conv_dimension_numbers((1,) * 3, (1,) * 3, ("NCH", "OIH", "NHC"))),
]
NOT_PLAIN = [
    lambda lax: lax.padtype_to_pads((5,), (2,), (1,), "HALF"),
    lambda lax: lax.conv_general_permutations(("NCHH", "OIHH", "NCHH")),
    lambda lax: lax.conv_general_permutations(("NCHW", "OIHD", "NCHW")),
    lambda lax: lax.conv_general_permutations(("NCHW", "OIHW", "CHW")),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, (None, "OIW", None)),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 4, None),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, ("NCHW", "OIHW", "NCHW")),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, ("NCH", "OIH")),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, 7),
    lambda lax: lax.conv_dimension_numbers((1,) * 3, (1,) * 3, ("NCH", "OIW", "NCH")),
]


def test_dimension_numbers():
    assert_all_same_results([*with_lax(PLAIN), *refusing(NOT_PLAIN)])
