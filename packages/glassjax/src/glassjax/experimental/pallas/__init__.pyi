"""Kernels on blocks of arrays, under the names of `jax.experimental.pallas`.

Kernels are interpreted: XLA compiles a loop over the blocks, on any device. They can be jitted and
mapped, and differentiated in both modes.
"""

import glassjax.numpy.indexing
from glassjax.experimental.pallas.costs import CostEstimate as CostEstimate
from glassjax.experimental.pallas.costs import estimate_cost as estimate_cost
from glassjax.experimental.pallas.grid import num_programs as num_programs
from glassjax.experimental.pallas.grid import program_id as program_id
from glassjax.experimental.pallas.kernels import align_to as align_to
from glassjax.experimental.pallas.kernels import broadcast_to as broadcast_to
from glassjax.experimental.pallas.kernels import cdiv as cdiv
from glassjax.experimental.pallas.kernels import debug_print as debug_print
from glassjax.experimental.pallas.kernels import empty as empty
from glassjax.experimental.pallas.kernels import empty_like as empty_like
from glassjax.experimental.pallas.kernels import empty_ref_like as empty_ref_like
from glassjax.experimental.pallas.kernels import loop as loop
from glassjax.experimental.pallas.kernels import multiple_of as multiple_of
from glassjax.experimental.pallas.kernels import next_power_of_2 as next_power_of_2
from glassjax.experimental.pallas.kernels import reciprocal as reciprocal
from glassjax.experimental.pallas.kernels import run_scoped as run_scoped
from glassjax.experimental.pallas.kernels import strides_from_shape as strides_from_shape
from glassjax.experimental.pallas.kernels import when as when
from glassjax.experimental.pallas.kernels import with_scoped as with_scoped
from glassjax.experimental.pallas.pallas_call import pallas_call as pallas_call
from glassjax.experimental.pallas.pallas_call import pallas_call_p as pallas_call_p
from glassjax.experimental.pallas.specs import ANY as ANY
from glassjax.experimental.pallas.specs import HOST as HOST
from glassjax.experimental.pallas.specs import BlockDim as BlockDim
from glassjax.experimental.pallas.specs import Blocked as Blocked
from glassjax.experimental.pallas.specs import BlockSpec as BlockSpec
from glassjax.experimental.pallas.specs import BoundedSlice as BoundedSlice
from glassjax.experimental.pallas.specs import Buffered as Buffered
from glassjax.experimental.pallas.specs import CompilerParams as CompilerParams
from glassjax.experimental.pallas.specs import Element as Element
from glassjax.experimental.pallas.specs import GridSpec as GridSpec
from glassjax.experimental.pallas.specs import MemoryRef as MemoryRef
from glassjax.experimental.pallas.specs import MemorySpace as MemorySpace
from glassjax.experimental.pallas.specs import RevisitMode as RevisitMode
from glassjax.experimental.pallas.specs import Squeezed as Squeezed
from glassjax.experimental.pallas.specs import no_block_spec as no_block_spec
from glassjax.experimental.pallas.specs import squeezed as squeezed
from glassjax.numpy.indexing import Slice as Slice
from glassjax.numpy.indexing import ds as ds

dslice = glassjax.numpy.indexing.ds
