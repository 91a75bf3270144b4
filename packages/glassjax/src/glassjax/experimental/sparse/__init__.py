"""Sparse arrays, under the names of `jax.experimental.sparse`.

They are pytrees, so that functions of them can be jitted, mapped and differentiated; `grad` and the
other derivatives here return sparse arrays.
"""

import glassjax.experimental.sparse.bcoo_methods as _methods  # noqa: F401
import glassjax.experimental.sparse.transform as _rules  # noqa: F401
from glassjax.settings.facades import lazy_facade as _lazy_facade
from glassjax.settings.facades import make_module as _make_module

_lazy_facade(
    globals(),
    {
        ".api": """
            empty eye grad jacfwd jacobian jacrev lobpcg_standard random_bcoo spsolve todense
            todense_p value_and_grad
        """,
        ".base": """
            BCOO BCOOProperties CuSparseEfficiencyWarning JAXSparse SparseEfficiencyError
            SparseEfficiencyWarning SparseInfo bcoo_extract bcoo_extract_p bcoo_fromdense
            bcoo_fromdense_p bcoo_todense bcoo_todense_p nfold_vmap
        """,
        ".bcoo_products": """
            bcoo_conv_general_dilated bcoo_dot_general bcoo_dot_general_p bcoo_dot_general_sampled
            bcoo_dot_general_sampled_p bcoo_multiply_dense bcoo_multiply_sparse bcoo_reduce_sum
            bcoo_spdot_general_p
        """,
        ".bcoo_shapes": """
            bcoo_broadcast_in_dim bcoo_concatenate bcoo_dynamic_slice bcoo_eliminate_zeros
            bcoo_gather bcoo_reshape bcoo_rev bcoo_slice bcoo_sort_indices bcoo_sort_indices_p
            bcoo_squeeze bcoo_sum_duplicates bcoo_sum_duplicates_p bcoo_transpose bcoo_transpose_p
            bcoo_update_layout
        """,
        ".bcsr": """
            BCSR BCSRProperties bcsr_broadcast_in_dim bcsr_concatenate bcsr_dot_general
            bcsr_dot_general_p bcsr_eliminate_zeros bcsr_extract bcsr_extract_p bcsr_fromdense
            bcsr_fromdense_p bcsr_sum_duplicates bcsr_todense bcsr_todense_p
        """,
        ".coo": """
            COO CSC CSR coo_fromdense coo_fromdense_p coo_matmat coo_matmat_p coo_matvec
            coo_matvec_p coo_todense coo_todense_p csr_fromdense csr_fromdense_p csr_matmat
            csr_matmat_p csr_matvec csr_matvec_p csr_todense csr_todense_p
        """,
        ".transform": """
            SparseTracer SparsifyEnv SparsifyValue arrays_to_spvalues sparsify spvalues_to_arrays
            spvalues_to_avals
        """,
    },
)

# Modules of JAX without a file here.

_make_module(
    "glassjax.experimental.sparse.ad",
    "Derivatives of functions of sparse arrays.",
    {"glassjax.experimental.sparse.api": "grad jacfwd jacobian jacrev value_and_grad"},
)
_make_module(
    "glassjax.experimental.sparse.bcoo",
    "BCOO, and all functions of such arrays.",
    {
        "glassjax.experimental.sparse.base": """
            BCOO BCOOProperties bcoo_extract bcoo_fromdense bcoo_todense
        """,
        "glassjax.experimental.sparse.bcoo_products": """
            bcoo_conv_general_dilated bcoo_dot_general bcoo_dot_general_sampled bcoo_multiply_dense
            bcoo_multiply_sparse bcoo_reduce_sum
        """,
        "glassjax.experimental.sparse.bcoo_shapes": """
            bcoo_broadcast_in_dim bcoo_concatenate bcoo_dynamic_slice bcoo_eliminate_zeros
            bcoo_gather bcoo_reshape bcoo_rev bcoo_slice bcoo_sort_indices bcoo_squeeze
            bcoo_sum_duplicates bcoo_transpose bcoo_update_layout
        """,
    },
)
_make_module(
    "glassjax.experimental.sparse.csr",
    "CSR and CSC, and functions of such matrices.",
    {
        "glassjax.experimental.sparse.coo": """
            CSC CSR csr_fromdense csr_matmat csr_matvec csr_todense
        """,
    },
)
_make_module(
    "glassjax.experimental.sparse.linalg",
    "Linear algebra of sparse matrices.",
    {"glassjax.experimental.sparse.api": "lobpcg_standard spsolve"},
)
_make_module(
    "glassjax.experimental.sparse.random",
    "Random sparse arrays.",
    {"glassjax.experimental.sparse.api": "random_bcoo"},
)
_make_module(
    "glassjax.experimental.sparse.util",
    "Warnings, errors and shapes of sparse arrays.",
    {
        "glassjax.experimental.sparse.base": """
            CuSparseEfficiencyWarning SparseEfficiencyError SparseEfficiencyWarning SparseInfo
            nfold_vmap
        """,
    },
)
