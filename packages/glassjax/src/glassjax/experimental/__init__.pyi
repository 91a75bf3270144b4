"""JAX's experimental names, such as `io_callback`; `plan`, `roll`, and sparse Jacobians."""

from glassjax.callbacks import io_callback as io_callback
from glassjax.experimental import multihost_utils as multihost_utils
from glassjax.experimental.rolled_loops import roll as roll
from glassjax.experimental.sparse_derivatives.jacobian import sparse_hessian as sparse_hessian
from glassjax.experimental.sparse_derivatives.jacobian import sparse_jacobian as sparse_jacobian
from glassjax.experimental.sparse_derivatives.jacobian import sparsity as sparsity
from glassjax.experimental.sparse_derivatives.pattern import Sparsity as Sparsity
from glassjax.plan import plan as plan
