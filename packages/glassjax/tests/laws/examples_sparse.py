"""Examples of the laws for primitives of sparse arrays."""

import numpy as np

import glassjax.numpy as jnp
from glassjax.experimental import sparse

SHAPE = (2, 3)
ROW, COL, STARTS = np.array([0, 1, 1]), np.array([1, 0, 2]), np.array([0, 1, 3])
PLACES = np.stack([ROW, COL], 1)
DENSE, VECTOR = np.arange(6.0).reshape(3, 2) / 4, np.arange(1.0, 4)
NUMBERS = (((1,), (0,)), ((), ()))


def bcoo(x):
    return sparse.BCOO((x, PLACES), shape=SHAPE)


def bcsr(x):
    return sparse.BCSR((x, COL, STARTS), shape=SHAPE)


def coo(x):
    return sparse.COO((x, ROW, COL), shape=SHAPE)


def csr(x):
    return sparse.CSR((x, COL, STARTS), shape=SHAPE)


def elements(cls):
    return lambda x: cls.fromdense(x, nse=4).data


OF_ELEMENTS = {
    "bcoo_todense": lambda x: bcoo(x).todense(),
    "bcoo_transpose": lambda x: bcoo(x).T.data,
    "bcoo_sort_indices": lambda x: sparse.bcoo.bcoo_sort_indices(bcoo(x)).data,
    "bcoo_sum_duplicates": lambda x: sparse.bcoo.bcoo_sum_duplicates(bcoo(x), nse=2).data,
    "bcoo_spdot_general": lambda x: (bcoo(x) @ sparse.BCOO.fromdense(DENSE, nse=6)).data,
    "bcsr_todense": lambda x: bcsr(x).todense(),
    "bcsr_dot_general": lambda x: sparse.bcsr_dot_general(
        bcsr(x), jnp.asarray(DENSE), dimension_numbers=NUMBERS
    ),
    "coo_todense": lambda x: coo(x).todense(),
    "coo_matvec": lambda x: coo(x) @ VECTOR,
    "coo_matmat": lambda x: coo(x) @ DENSE,
    "csr_todense": lambda x: csr(x).todense(),
    "csr_matvec": lambda x: csr(x) @ VECTOR,
    "csr_matmat": lambda x: csr(x) @ DENSE,
}
OF_DENSE = {
    "bcoo_fromdense": elements(sparse.BCOO),
    "bcoo_extract": lambda x: sparse.bcoo_extract(bcoo(np.ones(3)), x).data,
    "bcoo_dot_general_sampled": lambda x: sparse.bcoo_dot_general_sampled(
        x, DENSE, PLACES[:, ::-1] % 2, dimension_numbers=NUMBERS
    ),
    "bcsr_fromdense": elements(sparse.BCSR),
    "bcsr_extract": lambda x: sparse.bcsr_extract(COL, STARTS, x),
    "coo_fromdense": elements(sparse.COO),
    "csr_fromdense": elements(sparse.CSR),
}

# By the name of a primitive: functions, the shapes of their operands, and dtypes.
F64 = (np.dtype("float64"),)
FUNCTIONS = {
    **{name: ([function], [(3,)], F64) for name, function in OF_ELEMENTS.items()},
    **{name: ([function], [SHAPE], F64) for name, function in OF_DENSE.items()},
    "bcoo_dot_general": ([lambda x, y: bcoo(x) @ y], [(3,), (3, 2)], F64),
}
