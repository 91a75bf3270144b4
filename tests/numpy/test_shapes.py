"""Functions that cut, join, rearrange and search arrays: what they give is what JAX's give.

Values, dtypes, weak types, the containers, and the classes of errors.
"""

import itertools

import numpy as np
import pytest
from libraries import assert_all_same_results, of_size, refused

import minijax
import minijax.numpy as mnp

x = np.arange(4.0, dtype=np.float32)
m = np.arange(12.0, dtype=np.float32).reshape(3, 4)
c = m.reshape(2, 3, 2)
i = np.array([-1, 5, -9, 2])
z = np.array([0, 3, 0, 2])
b = np.array([True, False, True, True])

# Programs of `n`, which is either library's numpy, and of `lib`, which is the library itself.
FAMILIES = {
    "manipulation": [
        lambda n, lib: n.broadcast_arrays(x, 1),
        lambda n, lib: n.broadcast_shapes((1, 2), (3, 1)),
        lambda n, lib: n.moveaxis(c, (0, 1), (2, 0)),
        lambda n, lib: n.moveaxis(c, 0, -1),
        lambda n, lib: n.permute_dims(c, (1, 0, 2)),
        lambda n, lib: n.matrix_transpose(c),
        lambda n, lib: n.size(m),
        lambda n, lib: n.size(m, 0),
    ],
    "triangles": [
        lambda n, lib: n.diag(x),
        lambda n, lib: n.diag(x, 2),
        lambda n, lib: n.diag(x, -1),
        lambda n, lib: n.diag(m),
        lambda n, lib: n.diag(m, 1),
        lambda n, lib: n.diag(m, -2),
        lambda n, lib: n.diagonal(c, 1, 0, 2),
        lambda n, lib: n.diagonal(c, -1, axis1=2, axis2=1),
        lambda n, lib: n.diagonal(m, 9),
        lambda n, lib: n.diagflat(m, 1),
        lambda n, lib: n.diag_indices(3, 3),
        lambda n, lib: n.diag_indices_from(np.eye(3)),
        lambda n, lib: n.tril(m),
        lambda n, lib: n.triu(m, 1),
        lambda n, lib: n.tril(c, -1),
        lambda n, lib: n.tri(2, 3, 1),
        lambda n, lib: n.tri(3, dtype=int),
        lambda n, lib: n.tril_indices(3, 1, 2),
        lambda n, lib: n.triu_indices(3, -1),
        lambda n, lib: n.triu_indices_from(np.eye(2)),
        of_size(6, lambda n, **size: n.mask_indices(3, n.triu, **size)),
        lambda n, lib: n.mask_indices(3, n.tril, 1, size=9),
        lambda n, lib: n.fill_diagonal(m, np.array([1, 2]), inplace=False),
        lambda n, lib: n.fill_diagonal(m, 7, inplace=False),
        lambda n, lib: n.fill_diagonal(np.zeros((3, 3, 3)), 7, inplace=False),
        refused(lambda n, lib: n.fill_diagonal(m, 7)),
    ],
    "rearranging": [
        lambda n, lib: n.roll(x, 1),
        lambda n, lib: n.roll(m, (1, -2), (0, 1)),
        lambda n, lib: n.roll(m, 3),
        lambda n, lib: n.roll(m, 1, axis=1),
        lambda n, lib: n.roll(x, n.asarray(2)),
        lambda n, lib: n.roll(x, n.array([1, 2]), 0),
        lambda n, lib: n.roll(m, [1, 2], axis=(0, 1)),
        lambda n, lib: n.rollaxis(c, 2),
        lambda n, lib: n.rollaxis(c, 0, 3),
        lambda n, lib: n.flip(m),
        lambda n, lib: n.flip(m, 0),
        lambda n, lib: n.fliplr(m),
        lambda n, lib: n.flipud(m),
        lambda n, lib: n.rot90(m),
        lambda n, lib: n.rot90(m, 2),
        lambda n, lib: n.rot90(m, 3),
        lambda n, lib: n.rot90(c, -1, axes=(1, 2)),
        lambda n, lib: n.repeat(x, 2),
        lambda n, lib: n.repeat(m, 2, axis=1),
        lambda n, lib: n.repeat(m, np.array([1, 0, 2]), axis=0),
        lambda n, lib: n.repeat(x, np.array([1, 2, 0, 1]), total_repeat_length=7),
        lambda n, lib: n.repeat(x, 2, total_repeat_length=5),
        lambda n, lib: n.repeat(x, np.array([3, 3, 0, 1]), total_repeat_length=3),
        lambda n, lib: n.repeat(3.0, 4),
        lambda n, lib: n.tile(x, 2),
        lambda n, lib: n.tile(m, (2, 1, 3)),
        lambda n, lib: n.tile(c, (2,)),
        lambda n, lib: n.resize(x, (2, 3)),
        lambda n, lib: n.resize(x, (0,)),
    ],
    "joining": [
        lambda n, lib: n.append(x, 1),
        lambda n, lib: n.append(m, m, axis=0),
        lambda n, lib: n.hstack([x, 1]),
        lambda n, lib: n.hstack([m, m]),
        lambda n, lib: n.vstack([x, x]),
        lambda n, lib: n.vstack((m, x), dtype=np.int32),
        lambda n, lib: n.dstack([x, x]),
        lambda n, lib: n.column_stack([x, x]),
        lambda n, lib: n.block([[np.eye(2), np.ones((2, 1))], [np.ones((1, 3))]]),
        lambda n, lib: n.block([x, 1.0]),
        lambda n, lib: n.concat([x, x], axis=0),
        lambda n, lib: n.concatenate(n.asarray(c)),
        lambda n, lib: n.stack(n.asarray(m)),
        lambda n, lib: n.vstack(n.asarray(m)),
        lambda n, lib: n.atleast_1d(1),
        lambda n, lib: n.atleast_2d(1, x),
        lambda n, lib: n.atleast_3d(x, m, 1.0),
    ],
    "splitting": [
        lambda n, lib: n.split(x, 2),
        lambda n, lib: n.split(x, [1, 3]),
        lambda n, lib: n.split(m, 3, axis=0),
        refused(lambda n, lib: n.split(x, 3)),
        lambda n, lib: n.array_split(x, 3),
        lambda n, lib: n.hsplit(m, 2),
        lambda n, lib: n.vsplit(m, 3),
        lambda n, lib: n.dsplit(c, 2),
        lambda n, lib: n.unstack(m),
        lambda n, lib: n.unstack(c, axis=1),
        lambda n, lib: n.split(m, np.array([1, 2]), axis=1),
    ],
    "grids": [
        lambda n, lib: n.meshgrid(x, x[:2]),
        lambda n, lib: n.meshgrid(x, x[:2], indexing="ij", sparse=True),
        lambda n, lib: n.mgrid[0:3, 0:2],
        lambda n, lib: n.mgrid[0:1:3j],
        lambda n, lib: n.mgrid[0:1:3j, 0:2],
        lambda n, lib: n.ogrid[0:3, 0:2],
        lambda n, lib: n.r_[0:3, 5, x],
        lambda n, lib: n.r_[0:1:3j],
        lambda n, lib: n.c_[x, x],
        lambda n, lib: n.c_[m, x[:3]],
        lambda n, lib: n.r_["0,2", [1, 2], [3, 4]],
        lambda n, lib: n.r_["r", [1, 2], [3, 4]],
        lambda n, lib: n.r_["c", [1, 2]],
        lambda n, lib: n.r_["1,2,0", [1, 2], [3, 4]],
        lambda n, lib: n.indices((2, 3)),
        lambda n, lib: n.indices((2, 2), sparse=True),
        lambda n, lib: n.indices((2,), dtype=np.float32),
        lambda n, lib: n.fromfunction(lambda i, j: i + j, (2, 2)),
        lambda n, lib: n.fromfunction(lambda i, j: i + j, (2, 3), dtype=int),
    ],
    "taking": [
        lambda n, lib: n.take(x, i),
        lambda n, lib: n.take(x, i, mode="clip"),
        lambda n, lib: n.take(x, i, mode="wrap"),
        lambda n, lib: n.take(x, i, fill_value=7),
        lambda n, lib: n.take(m, np.array([[0, 1], [2, 0]]), axis=1),
        lambda n, lib: n.take(m, 1, axis=0),
        lambda n, lib: n.take(m, np.array([0, 11])),
        refused(lambda n, lib: n.take(x, i, mode="raise")),
        lambda n, lib: n.take(z, i),
        lambda n, lib: n.take_along_axis(x, i, 0),
        lambda n, lib: n.take_along_axis(x, i, 0, mode="clip"),
        lambda n, lib: n.take_along_axis(m, np.array([[1], [0], [3]]), 1),
        lambda n, lib: n.take_along_axis(m, np.array([[1, 0, 2, 0]]), 0),
        lambda n, lib: n.take_along_axis(m, np.array([1, 7]), None),
        lambda n, lib: n.take_along_axis(m, np.array([[9]]), 1, fill_value=5),
        lambda n, lib: n.put_along_axis(m, np.array([[1], [0], [3]]), 9, 1, inplace=False),
        lambda n, lib: n.put(x, i, 9, inplace=False),
        lambda n, lib: n.put(x, i, np.array([1, 2]), mode="wrap", inplace=False),
        lambda n, lib: n.put(m, np.array([0, 5]), np.array([7.0, 8.0]), inplace=False),
        lambda n, lib: n.ravel_multi_index(
            (np.array([1, 5]), np.array([2, 0])), (2, 3), mode="clip"
        ),
        lambda n, lib: n.ravel_multi_index(
            (np.array([1, 5]), np.array([2, 0])), (2, 3), mode="wrap"
        ),
        lambda n, lib: n.ravel_multi_index((np.array([1, 0]), np.array([2, 0])), (2, 3)),
        lambda n, lib: n.ravel_multi_index((np.array([1, 0]), np.array([2, 0])), (2, 3), order="F"),
        lambda n, lib: n.unravel_index(np.array([5, -1, 100, -100]), (2, 3)),
        lambda n, lib: n.unravel_index(3, (2, 3)),
        lambda n, lib: n.unravel_index(np.array([5, -1, 100], np.int8), (20, 20)),
        lambda n, lib: n.unravel_index(np.array([5, 1, 200], np.uint8), (2, 3)),
    ],
    "selection": [
        lambda n, lib: n.select([x > 2, x > 0], [x, -x], 9),
        lambda n, lib: n.select([x > 2], [1], 0),
        lambda n, lib: n.choose(
            np.array([0, 1, 5]), [np.array([1, 2, 3]), np.array([4, 5, 6])], mode="clip"
        ),
        lambda n, lib: n.choose(
            np.array([0, 1, -1]), [np.array([1, 2, 3]), np.array([4, 5, 6])], mode="wrap"
        ),
        lambda n, lib: n.choose(np.array([0, 1, 1]), [np.array([1, 2, 3]), np.array([4, 5, 6])]),
        of_size(3, lambda n, **size: n.where(b, **size)),
        lambda n, lib: n.where(b, size=3),
        lambda n, lib: n.where(b, x, 0),
        lambda n, lib: n.where(b, 1, 0),
        lambda n, lib: n.where(b, 1.0, 0),
        of_size(2, lambda n, **size: n.nonzero(z, **size)),
        lambda n, lib: n.nonzero(z, size=3),
        lambda n, lib: n.nonzero(np.array([[0, 3], [0, 2]]), size=3, fill_value=(7, 8)),
        lambda n, lib: n.nonzero(z, size=1),
        lambda n, lib: n.nonzero(z, size=4, fill_value=-1),
        lambda n, lib: n.flatnonzero(m, size=3),
        of_size(6, lambda n, **size: n.flatnonzero(m > 5, **size)),
        lambda n, lib: n.argwhere(np.eye(2), size=3, fill_value=-1),
        of_size(6, lambda n, **size: n.argwhere(m > 5, **size)),
        lambda n, lib: n.compress(np.array([1, 0, 1]), x, size=3, fill_value=9),
        of_size(2, lambda n, **size: n.compress(np.array([1, 0, 1]), m, axis=0, **size)),
        lambda n, lib: n.extract(x > 1, x, size=4),
        of_size(2, lambda n, **size: n.extract(x > 1, x, **size)),
        lambda n, lib: n.trim_zeros(np.array([0, 1, 0, 2, 0])),
        lambda n, lib: n.trim_zeros(np.array([0, 1, 0, 2, 0]), "f"),
        lambda n, lib: n.piecewise(x, [x > 2, x < 1], [lambda v: -v, 3.0, 7.0]),
        lambda n, lib: n.piecewise(x, [x > 2], [1.0]),
        lambda n, lib: n.place(x, x > 1, np.array([7.0, 8]), inplace=False),
    ],
    "inserting": [
        lambda n, lib: n.delete(x, 1),
        lambda n, lib: n.delete(x, np.array([0, -1])),
        lambda n, lib: n.delete(m, 1, axis=1),
        lambda n, lib: n.delete(x, slice(0, 2)),
        lambda n, lib: n.delete(x, b),
        lambda n, lib: n.insert(x, 1, np.array([7, 8])),
        lambda n, lib: n.insert(x, np.array([1, 2]), 5),
        lambda n, lib: n.insert(x, np.array([1, 3]), np.array([5.0, 6.0])),
        lambda n, lib: n.insert(m, 1, 9, axis=1),
        lambda n, lib: n.insert(m, 1, np.array([7, 8, 9]), axis=1),
        lambda n, lib: n.insert(m, np.array([0, 2]), np.array([7, 8, 9, 1]), axis=0),
        lambda n, lib: n.insert(m, -1, np.array([7, 8])),
    ],
    "padding": [
        lambda n, lib: n.pad(x, 2),
        lambda n, lib: n.pad(m, ((1, 2), (0, 1))),
        lambda n, lib: n.pad(m, (1, 2), constant_values=3),
        lambda n, lib: n.pad(x, (1, 2), constant_values=(3, 4)),
        lambda n, lib: n.pad(m, 1, constant_values=((1, 2), (3, 4))),
        lambda n, lib: n.pad(x, 2, mode="constant", constant_values=n.asarray(5.0)),
        lambda n, lib: n.pad(m, 2, mode="edge"),
        lambda n, lib: n.pad(m, ((1, 2), (3, 4)), mode="reflect"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="reflect"),
        lambda n, lib: n.pad(m, ((1, 2), (3, 4)), mode="symmetric"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="symmetric"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="wrap"),
        lambda n, lib: n.pad(m, ((1, 2), (3, 4)), mode="reflect", reflect_type="odd"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="reflect", reflect_type="odd"),
        lambda n, lib: n.pad(m, ((1, 2), (7, 9)), mode="symmetric", reflect_type="odd"),
        lambda n, lib: n.pad(m, 2, mode="linear_ramp"),
        lambda n, lib: n.pad(m, 2, mode="linear_ramp", end_values=5),
        lambda n, lib: n.pad(z, (2, 3), mode="linear_ramp", end_values=(7, -4)),
        lambda n, lib: n.pad(m, 2, mode="maximum"),
        lambda n, lib: n.pad(m, 2, mode="minimum", stat_length=2),
        lambda n, lib: n.pad(m, 2, mode="mean"),
        lambda n, lib: n.pad(m, 2, mode="mean", stat_length=((1, 2), (2, 1))),
        lambda n, lib: n.pad(m, 0),
        lambda n, lib: n.pad(
            x, 2, mode=lambda v, w, a, k: v.at[: w[0]].set(9.0).at[-w[1] :].set(8.0)
        ),
        refused(lambda n, lib: n.pad(x, 2, mode="nope")),
        refused(lambda n, lib: n.pad(x, -1)),
        refused(lambda n, lib: n.pad(x, 1, mode="edge", constant_values=3)),
    ],
    "applying": [
        lambda n, lib: n.apply_along_axis(n.sum, 1, m),
        lambda n, lib: n.apply_along_axis(lambda v: v * 2, 0, c),
        lambda n, lib: n.apply_along_axis(lambda v: v[:2], 1, c),
        lambda n, lib: n.apply_over_axes(n.sum, c, [0, 2]),
        lambda n, lib: n.vectorize(lambda a, b: a * b)(x, m[:, :1]),
        lambda n, lib: n.vectorize(n.dot, signature="(n),(n)->()")(m, x),
        lambda n, lib: n.vectorize(n.dot, signature="(n,m),(m)->(n)")(
            m, np.ones((2, 4), np.float32)
        ),
        lambda n, lib: n.vectorize(lambda a, b, c: a * b + c, excluded=(1,))(x, 2.0, m),
        lambda n, lib: n.vectorize(lambda a: (a, a * 2))(x),
    ],
    "segments": [
        lambda n, lib: lib.ops.segment_sum(m, np.array([0, 1, 0]), 2),
        lambda n, lib: lib.ops.segment_sum(m, np.array([0, 1, 0])),
        lambda n, lib: lib.ops.segment_max(x, np.array([0, 0, 2, 2]), num_segments=4),
        lambda n, lib: lib.ops.segment_min(z, np.array([0, 0, 2, 2]), num_segments=4),
        lambda n, lib: lib.ops.segment_prod(x, np.array([0, 0, 2, -1]), 3),
        lambda n, lib: lib.ops.segment_sum(x, np.array([0, 0, 2, 7]), 3, bucket_size=2),
        lambda n, lib: lib.ops.segment_max(x, np.array([0, 0, 2, 7]), 3, bucket_size=3),
        lambda n, lib: lib.ops.segment_sum(
            x, np.array([0, 0, 2, 7]), 3, mode="clip", indices_are_sorted=True, unique_indices=False
        ),
        *(
            lambda n, lib, name=name, data=data: getattr(lib.ops, name)(
                data, np.array([2, 0, 2]), num_segments=4
            )
            for name in ("segment_sum", "segment_prod", "segment_max", "segment_min")
            for data in (z[:3], b[:3], m.astype(np.uint8), m * 1j, m.astype(np.float16))
            # Booleans have no sum, complex numbers no order.
            if data.dtype.kind not in ("b" if name in ("segment_sum", "segment_prod") else "c")
        ),
        refused(lambda n, lib: lib.ops.segment_sum(x, np.array([0, 0, 2]))),
        refused(lambda n, lib: lib.ops.segment_sum(x, np.array([0.0, 0, 2, 2]))),
        refused(lambda n, lib: lib.ops.segment_sum(x, np.array([0, 0, 2, 2]), -1)),
        lambda n, lib: lib.ops.segment_sum(x[:0], np.zeros(0, int), 2),
    ],
    "methods": [
        lambda n, lib: n.asarray(m).take(1),
        lambda n, lib: n.asarray(m).repeat(2),
        lambda n, lib: n.asarray(m).flatten(),
        lambda n, lib: n.asarray(m).flatten("F"),
        lambda n, lib: n.asarray(m).diagonal(1),
        lambda n, lib: n.asarray(z).nonzero(),
        lambda n, lib: n.asarray(m).mT,
        lambda n, lib: n.asarray(m).item(3),
        lambda n, lib: n.asarray(m).item(1, 2),
        lambda n, lib: n.asarray(m).reshape(4, 3, order="F"),
        lambda n, lib: n.asarray(m).reshape((4, 3), order="F"),
        lambda n, lib: n.asarray(m).astype(int, copy=True),
        lambda n, lib: n.asarray(m).compress(np.array([1, 0, 1]), axis=0),
        lambda n, lib: n.asarray(z).choose([z, z + 1, z + 2, z + 3]),
    ],
    "ranges": [
        lambda n, lib: n.copy(3),
        lambda n, lib: n.empty_like(m),
        lambda n, lib: n.identity(2),
        lambda n, lib: n.identity(2, dtype=int),
        lambda n, lib: n.frombuffer(b"\x01\x02", dtype=np.uint8),
        lambda n, lib: n.frombuffer(b"\x01\x02\x03", dtype=np.uint8, count=2, offset=1),
        lambda n, lib: n.logspace(0, 1, 3),
        lambda n, lib: n.logspace(0, 2, num=4, base=2, dtype=np.float32),
        lambda n, lib: n.logspace(0, 2, num=4, endpoint=False),
        lambda n, lib: n.geomspace(1, 10, 3),
        lambda n, lib: n.geomspace(1, 1000, 4, endpoint=False),
        lambda n, lib: n.geomspace(-1, -8, 4),
        lambda n, lib: n.vander(x, 3),
        lambda n, lib: n.vander(x),
        lambda n, lib: n.vander(x, 3, increasing=True),
        lambda n, lib: n.vander(np.array([1, 2, 3])),
    ],
    "transformed": [
        lambda n, lib: lib.jit(lambda r: n.repeat(x, r, total_repeat_length=7))(
            np.array([1, 2, 0, 1])
        ),
        lambda n, lib: lib.jit(lambda r: n.repeat(m, r, axis=1, total_repeat_length=3))(
            np.array([1, 2, 0, 1])
        ),
        refused(lambda n, lib: lib.jit(lambda r: n.repeat(x, r))(np.array([1, 2, 0, 1]))),
        lambda n, lib: lib.jit(lambda z: n.nonzero(z, size=4, fill_value=-1))(z),
        refused(lambda n, lib: lib.jit(lambda z: n.nonzero(z))(z)),
        lambda n, lib: lib.jit(lambda i: n.delete(x, i, assume_unique_indices=True))(
            np.array([0, 2])
        ),
        lambda n, lib: lib.jit(
            lambda m: (
                m.take(1),
                m.mT,
                m.flatten(),
                m.reshape(2, 6, order="F"),
                m.astype(int, copy=True),
                m.swapaxes(0, 1),
                m.diagonal(),
                m.repeat(2, axis=0),
            )
        )(m),
        lambda n, lib: lib.grad(lambda m: (n.pad(m, ((1, 2), (3, 4)), mode="reflect") ** 2).sum())(
            m
        ),
        lambda n, lib: lib.grad(lambda m: (n.take(m, np.array([0, 2, 0]), axis=1) ** 2).sum())(m),
        lambda n, lib: lib.grad(
            lambda m: (n.take_along_axis(m, np.array([[1], [0], [3]]), 1) ** 2).sum()
        )(m),
        lambda n, lib: lib.grad(
            lambda m: (n.tril(m) ** 2).sum() + (n.diag(m) ** 2).sum() + (n.roll(m, 1) * m).sum()
        )(m),
        lambda n, lib: lib.grad(
            lambda m: (n.repeat(m, 2, axis=0) ** 2).sum() + (n.tile(m, (2, 3)) ** 2).sum()
        )(m),
        lambda n, lib: lib.grad(lambda m: (n.diag(n.ravel(m), 1) ** 3).sum())(m),
        lambda n, lib: lib.vmap(lambda r: n.pad(r, 2, mode="wrap"))(m),
        lambda n, lib: lib.vmap(lambda r: n.roll(r, 1))(m),
        lambda n, lib: lib.vmap(lambda r, s: n.roll(r, s))(m, np.arange(3)),
        lambda n, lib: lib.vmap(lambda r: n.nonzero(r, size=3)[0])(m),
        lambda n, lib: lib.vmap(lambda r, j: n.take(r, j))(m, np.array([0, 1, -1])),
        lambda n, lib: lib.vmap(lambda r: n.diag(r))(m),
        lambda n, lib: lib.grad(
            lambda x: (lib.ops.segment_sum(x, np.array([0, 0, 2, 2]), 3) ** 2).sum()
        )(x),
        lambda n, lib: lib.grad(
            lambda x: (
                lib.ops.segment_max(x, np.array([0, 0, 2, 2]), 3)[np.array([0, 2])] ** 2
            ).sum()
        )(x),
        refused(
            refused(
                lambda n, lib: lib.jit(lambda i: lib.ops.segment_sum(x, i))(np.array([0, 0, 2, 2]))
            )
        ),
        *(
            lambda n, lib, name=name: lib.jacrev(
                lambda x: (
                    getattr(lib.ops, name)(x, np.array([0, 2, 2, 2]), 3) * np.float32([1, 0, 2])
                )
            )(x[[1, 3, 2, 3]])
            for name in ("segment_sum", "segment_max", "segment_min")
        ),
        *(
            lambda n, lib, name=name: lib.vmap(lambda x: getattr(lib.ops, name)(x, z[:4] % 3, 3))(m)
            for name in ("segment_sum", "segment_prod", "segment_max", "segment_min")
        ),
    ],
    "slices": [
        lambda n, lib: lib.lax.index_take(m, (np.array([0, 1]), np.array([2, 3])), (0, 1)),
        lambda n, lib: lib.lax.dynamic_slice(m, (1, 1), (2, 2)),
        lambda n, lib: lib.lax.dynamic_slice(m, np.array([9, 1]), (2, 2)),
        lambda n, lib: lib.lax.dynamic_slice_in_dim(m, 1, 2, axis=1),
        lambda n, lib: lib.lax.dynamic_update_slice_in_dim(m, m[:, :1], 2, axis=1),
        lambda n, lib: lib.lax.dynamic_index_in_dim(m, 1, 0, keepdims=False),
        lambda n, lib: lib.lax.dynamic_update_index_in_dim(m, m[0] * 0, 1, axis=0),
        lambda n, lib: lib.lax.slice_in_dim(m, 0, 3, 2, axis=1),
        lambda n, lib: lib.lax.index_in_dim(m, -1, 0),
        lambda n, lib: lib.lax.rev(m, (0,)),
    ],
}


@pytest.mark.bits(32)
@pytest.mark.parametrize("family", FAMILIES)
def test_functions_give_what_jaxs_give(family):
    assert_all_same_results(FAMILIES[family])


def test_what_jax_refuses_is_given_as_numpy_gives_it():
    np.testing.assert_array_equal(
        mnp.asarray(m)[mnp.ix_(np.array([0, 2]), b)], m[np.ix_(np.array([0, 2]), b)]
    )
    np.testing.assert_array_equal(mnp.pad(m, {1: (1, 2)}), np.pad(m, ((0, 0), (1, 2))))


def test_arrays_are_saved_and_loaded(tmp_path):
    mnp.save(tmp_path / "x.npy", mnp.asarray(m))
    out = mnp.load(tmp_path / "x.npy")
    assert isinstance(out, minijax.Array)
    np.testing.assert_array_equal(out, m)
    mnp.savez(tmp_path / "xs.npz", x=mnp.asarray(x), m=m)
    np.testing.assert_array_equal(mnp.load(tmp_path / "xs.npz")["x"], x)


class OfAShape:
    """What has a shape and a dtype, and is no array."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def test_types_stand_for_arrays_where_only_types_matter():
    """They were refused, as in `zeros_like(ShapeDtypeStruct(...))`."""
    programs = {}

    def like(kind, shape, dtype, call):
        def program(n, lib):
            make = OfAShape if kind == "own" else lib.ShapeDtypeStruct
            return call(n, lib, make(shape, n.dtype(dtype)))

        return program

    for key in itertools.product(
        ("own", "of the library"),
        ((), (2, 0), (2, 3)),
        ("float32", "bfloat16", "bool", "int8", "complex64"),
    ):
        for options in ({}, {"dtype": "int32"}, {"shape": (4,)}):
            for number, call in enumerate(
                [
                    lambda n, lib, of, how=options: n.zeros_like(of, **how),
                    lambda n, lib, of, how=options: n.ones_like(of, **how),
                    lambda n, lib, of, how=options: n.empty_like(of, **how),
                    lambda n, lib, of, how=options: n.full_like(of, 1, **how),
                    lambda n, lib, of, how=options: lib.lax.full_like(of, 1, **how),
                    lambda n, lib, of, how=options: lib.jit(lambda: n.ones_like(of, **how))(),
                ]
            ):
                programs[(*key, *options, number)] = like(*key, call)
        programs[(*key, "of a tracer")] = like(
            *key, lambda n, lib, of: lib.vmap(lambda x: n.full_like(of, x))(np.ones(2))
        )
        programs[(*key, "by name")] = like(*key, lambda n, lib, of: n.zeros_like(a=of))
    assert_all_same_results(programs)
