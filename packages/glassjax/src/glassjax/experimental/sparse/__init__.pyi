"""Sparse arrays, under the names of `jax.experimental.sparse`.

They are pytrees, so that functions of them can be jitted, mapped and differentiated; `grad` and the
other derivatives here return sparse arrays.
"""

from glassjax.experimental.sparse.api import empty as empty
from glassjax.experimental.sparse.api import eye as eye
from glassjax.experimental.sparse.api import grad as grad
from glassjax.experimental.sparse.api import jacfwd as jacfwd
from glassjax.experimental.sparse.api import jacobian as jacobian
from glassjax.experimental.sparse.api import jacrev as jacrev
from glassjax.experimental.sparse.api import lobpcg_standard as lobpcg_standard
from glassjax.experimental.sparse.api import random_bcoo as random_bcoo
from glassjax.experimental.sparse.api import spsolve as spsolve
from glassjax.experimental.sparse.api import todense as todense
from glassjax.experimental.sparse.api import todense_p as todense_p
from glassjax.experimental.sparse.api import value_and_grad as value_and_grad
from glassjax.experimental.sparse.base import BCOO as BCOO
from glassjax.experimental.sparse.base import BCOOProperties as BCOOProperties
from glassjax.experimental.sparse.base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from glassjax.experimental.sparse.base import JAXSparse as JAXSparse
from glassjax.experimental.sparse.base import SparseEfficiencyError as SparseEfficiencyError
from glassjax.experimental.sparse.base import SparseEfficiencyWarning as SparseEfficiencyWarning
from glassjax.experimental.sparse.base import SparseInfo as SparseInfo
from glassjax.experimental.sparse.base import bcoo_extract as bcoo_extract
from glassjax.experimental.sparse.base import bcoo_extract_p as bcoo_extract_p
from glassjax.experimental.sparse.base import bcoo_fromdense as bcoo_fromdense
from glassjax.experimental.sparse.base import bcoo_fromdense_p as bcoo_fromdense_p
from glassjax.experimental.sparse.base import bcoo_todense as bcoo_todense
from glassjax.experimental.sparse.base import bcoo_todense_p as bcoo_todense_p
from glassjax.experimental.sparse.base import nfold_vmap as nfold_vmap
from glassjax.experimental.sparse.bcoo_products import (
    bcoo_conv_general_dilated as bcoo_conv_general_dilated,
)
from glassjax.experimental.sparse.bcoo_products import bcoo_dot_general as bcoo_dot_general
from glassjax.experimental.sparse.bcoo_products import bcoo_dot_general_p as bcoo_dot_general_p
from glassjax.experimental.sparse.bcoo_products import (
    bcoo_dot_general_sampled as bcoo_dot_general_sampled,
)
from glassjax.experimental.sparse.bcoo_products import (
    bcoo_dot_general_sampled_p as bcoo_dot_general_sampled_p,
)
from glassjax.experimental.sparse.bcoo_products import bcoo_multiply_dense as bcoo_multiply_dense
from glassjax.experimental.sparse.bcoo_products import bcoo_multiply_sparse as bcoo_multiply_sparse
from glassjax.experimental.sparse.bcoo_products import bcoo_reduce_sum as bcoo_reduce_sum
from glassjax.experimental.sparse.bcoo_products import bcoo_spdot_general_p as bcoo_spdot_general_p
from glassjax.experimental.sparse.bcoo_shapes import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from glassjax.experimental.sparse.bcoo_shapes import bcoo_concatenate as bcoo_concatenate
from glassjax.experimental.sparse.bcoo_shapes import bcoo_dynamic_slice as bcoo_dynamic_slice
from glassjax.experimental.sparse.bcoo_shapes import bcoo_eliminate_zeros as bcoo_eliminate_zeros
from glassjax.experimental.sparse.bcoo_shapes import bcoo_gather as bcoo_gather
from glassjax.experimental.sparse.bcoo_shapes import bcoo_reshape as bcoo_reshape
from glassjax.experimental.sparse.bcoo_shapes import bcoo_rev as bcoo_rev
from glassjax.experimental.sparse.bcoo_shapes import bcoo_slice as bcoo_slice
from glassjax.experimental.sparse.bcoo_shapes import bcoo_sort_indices as bcoo_sort_indices
from glassjax.experimental.sparse.bcoo_shapes import bcoo_sort_indices_p as bcoo_sort_indices_p
from glassjax.experimental.sparse.bcoo_shapes import bcoo_squeeze as bcoo_squeeze
from glassjax.experimental.sparse.bcoo_shapes import bcoo_sum_duplicates as bcoo_sum_duplicates
from glassjax.experimental.sparse.bcoo_shapes import bcoo_sum_duplicates_p as bcoo_sum_duplicates_p
from glassjax.experimental.sparse.bcoo_shapes import bcoo_transpose as bcoo_transpose
from glassjax.experimental.sparse.bcoo_shapes import bcoo_transpose_p as bcoo_transpose_p
from glassjax.experimental.sparse.bcoo_shapes import bcoo_update_layout as bcoo_update_layout
from glassjax.experimental.sparse.bcsr import BCSR as BCSR
from glassjax.experimental.sparse.bcsr import BCSRProperties as BCSRProperties
from glassjax.experimental.sparse.bcsr import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from glassjax.experimental.sparse.bcsr import bcsr_concatenate as bcsr_concatenate
from glassjax.experimental.sparse.bcsr import bcsr_dot_general as bcsr_dot_general
from glassjax.experimental.sparse.bcsr import bcsr_dot_general_p as bcsr_dot_general_p
from glassjax.experimental.sparse.bcsr import bcsr_eliminate_zeros as bcsr_eliminate_zeros
from glassjax.experimental.sparse.bcsr import bcsr_extract as bcsr_extract
from glassjax.experimental.sparse.bcsr import bcsr_extract_p as bcsr_extract_p
from glassjax.experimental.sparse.bcsr import bcsr_fromdense as bcsr_fromdense
from glassjax.experimental.sparse.bcsr import bcsr_fromdense_p as bcsr_fromdense_p
from glassjax.experimental.sparse.bcsr import bcsr_sum_duplicates as bcsr_sum_duplicates
from glassjax.experimental.sparse.bcsr import bcsr_todense as bcsr_todense
from glassjax.experimental.sparse.bcsr import bcsr_todense_p as bcsr_todense_p
from glassjax.experimental.sparse.coo import COO as COO
from glassjax.experimental.sparse.coo import CSC as CSC
from glassjax.experimental.sparse.coo import CSR as CSR
from glassjax.experimental.sparse.coo import coo_fromdense as coo_fromdense
from glassjax.experimental.sparse.coo import coo_fromdense_p as coo_fromdense_p
from glassjax.experimental.sparse.coo import coo_matmat as coo_matmat
from glassjax.experimental.sparse.coo import coo_matmat_p as coo_matmat_p
from glassjax.experimental.sparse.coo import coo_matvec as coo_matvec
from glassjax.experimental.sparse.coo import coo_matvec_p as coo_matvec_p
from glassjax.experimental.sparse.coo import coo_todense as coo_todense
from glassjax.experimental.sparse.coo import coo_todense_p as coo_todense_p
from glassjax.experimental.sparse.coo import csr_fromdense as csr_fromdense
from glassjax.experimental.sparse.coo import csr_fromdense_p as csr_fromdense_p
from glassjax.experimental.sparse.coo import csr_matmat as csr_matmat
from glassjax.experimental.sparse.coo import csr_matmat_p as csr_matmat_p
from glassjax.experimental.sparse.coo import csr_matvec as csr_matvec
from glassjax.experimental.sparse.coo import csr_matvec_p as csr_matvec_p
from glassjax.experimental.sparse.coo import csr_todense as csr_todense
from glassjax.experimental.sparse.coo import csr_todense_p as csr_todense_p
from glassjax.experimental.sparse.transform import SparseTracer as SparseTracer
from glassjax.experimental.sparse.transform import SparsifyEnv as SparsifyEnv
from glassjax.experimental.sparse.transform import SparsifyValue as SparsifyValue
from glassjax.experimental.sparse.transform import arrays_to_spvalues as arrays_to_spvalues
from glassjax.experimental.sparse.transform import sparsify as sparsify
from glassjax.experimental.sparse.transform import spvalues_to_arrays as spvalues_to_arrays
from glassjax.experimental.sparse.transform import spvalues_to_avals as spvalues_to_avals
