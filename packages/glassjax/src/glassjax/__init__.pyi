"""glassjax: JAX rebuilt from first principles. The full library, with JAX's public names.

It is built on four stages, `glassjax_stage1` to `glassjax_stage4`, each a package to learn from.
"""

import glassjax.shardings.partition_spec
import glassjax.transforms.checkpoint
from glassjax import ad as ad
from glassjax import ad_checkpoint as ad_checkpoint
from glassjax import api_util as api_util
from glassjax import checkpoints as checkpoints
from glassjax import core as core
from glassjax import custom_batching as custom_batching
from glassjax import custom_derivatives as custom_derivatives
from glassjax import debug as debug
from glassjax import distributed as distributed
from glassjax import dlpack as dlpack
from glassjax import dtypes as dtypes
from glassjax import errors as errors
from glassjax import experimental as experimental
from glassjax import export as export
from glassjax import extend as extend
from glassjax import ffi as ffi
from glassjax import flatten_util as flatten_util
from glassjax import image as image
from glassjax import interpreters as interpreters
from glassjax import lax as lax
from glassjax import memory as memory
from glassjax import nn as nn
from glassjax import numpy as numpy
from glassjax import ops as ops
from glassjax import profiler as profiler
from glassjax import random as random
from glassjax import ref as ref
from glassjax import scipy as scipy
from glassjax import sharding as sharding
from glassjax import stages as stages
from glassjax import test_util as test_util
from glassjax import tree as tree
from glassjax import tree_util as tree_util
from glassjax import typing as typing
from glassjax import version as version
from glassjax.as_jax import coverage as coverage
from glassjax.as_jax import install_as_jax as install_as_jax
from glassjax.callbacks import effects_barrier as effects_barrier
from glassjax.callbacks import pure_callback as pure_callback
from glassjax.checks import check_tracer_leaks as check_tracer_leaks
from glassjax.checks import checking_leaks as checking_leaks
from glassjax.checks import clear_caches as clear_caches
from glassjax.checks import print_environment_info as print_environment_info
from glassjax.errors import explain_error as explain_error
from glassjax.explaining.explain import explain as explain
from glassjax.explaining.memory import explain_memory as explain_memory
from glassjax.explaining.recorder import record as record
from glassjax.lax.placement import device_put as device_put
from glassjax.lax.precision import default_matmul_precision as default_matmul_precision
from glassjax.lax.resharding import reshard as reshard
from glassjax.numpy.indexing import ds as ds
from glassjax.parallel.jacobian import hessian as hessian
from glassjax.parallel.jacobian import jacfwd as jacfwd
from glassjax.parallel.jacobian import jacobian as jacobian
from glassjax.parallel.jacobian import jacrev as jacrev
from glassjax.parallel.pmap import pmap as pmap
from glassjax.parallel.shard_map import shard_map as shard_map
from glassjax.parallel.shard_map import smap as smap
from glassjax.parallel.vmap import vmap as vmap
from glassjax.ref import empty_ref as empty_ref
from glassjax.ref import free_ref as free_ref
from glassjax.ref import freeze as freeze
from glassjax.ref import new_ref as new_ref
from glassjax.runtime.array import Array as Array
from glassjax.runtime.array import Shard as Shard
from glassjax.runtime.devices import Device as Device
from glassjax.runtime.devices import (
    array_garbage_collection_guard as array_garbage_collection_guard,
)
from glassjax.runtime.devices import block_until_ready as block_until_ready
from glassjax.runtime.devices import copy_to_host_async as copy_to_host_async
from glassjax.runtime.devices import default_backend as default_backend
from glassjax.runtime.devices import default_device as default_device
from glassjax.runtime.devices import device_count as device_count
from glassjax.runtime.devices import device_get as device_get
from glassjax.runtime.devices import devices as devices
from glassjax.runtime.devices import host_count as host_count
from glassjax.runtime.devices import host_id as host_id
from glassjax.runtime.devices import host_ids as host_ids
from glassjax.runtime.devices import live_arrays as live_arrays
from glassjax.runtime.devices import local_device_count as local_device_count
from glassjax.runtime.devices import local_devices as local_devices
from glassjax.runtime.devices import process_count as process_count
from glassjax.runtime.devices import process_index as process_index
from glassjax.runtime.devices import process_indices as process_indices
from glassjax.runtime.devices import thread_guard as thread_guard
from glassjax.runtime.devices import transfer_guard as transfer_guard
from glassjax.runtime.devices import (
    transfer_guard_device_to_device as transfer_guard_device_to_device,
)
from glassjax.runtime.devices import transfer_guard_device_to_host as transfer_guard_device_to_host
from glassjax.runtime.devices import transfer_guard_host_to_device as transfer_guard_host_to_device
from glassjax.runtime.evaluation import enable_x64 as enable_x64
from glassjax.runtime.evaluation import ensure_compile_time_eval as ensure_compile_time_eval
from glassjax.runtime.evaluation import numpy_dtype_promotion as numpy_dtype_promotion
from glassjax.runtime.evaluation import numpy_rank_promotion as numpy_rank_promotion
from glassjax.runtime.inlining import Inline as Inline
from glassjax.runtime.jit import jit as jit
from glassjax.runtime.make_array import make_array_from_callback as make_array_from_callback
from glassjax.runtime.make_array import (
    make_array_from_process_local_data as make_array_from_process_local_data,
)
from glassjax.runtime.make_array import (
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from glassjax.runtime.named_scope import named_call as named_call
from glassjax.runtime.named_scope import named_scope as named_scope
from glassjax.runtime.refs import Ref as Ref
from glassjax.runtime.staging import ShapeDtypeStruct as ShapeDtypeStruct
from glassjax.runtime.staging import eval_shape as eval_shape
from glassjax.runtime.staging import make_jaxpr as make_jaxpr
from glassjax.settings.config import config as config
from glassjax.settings.options import CompilerEffortLevel as CompilerEffortLevel
from glassjax.settings.options import allow_f16_reductions as allow_f16_reductions
from glassjax.settings.options import auto_pcast as auto_pcast
from glassjax.settings.options import debug_infs as debug_infs
from glassjax.settings.options import debug_key_reuse as debug_key_reuse
from glassjax.settings.options import debug_nans as debug_nans
from glassjax.settings.options import default_prng_impl as default_prng_impl
from glassjax.settings.options import disable_jit as disable_jit
from glassjax.settings.options import enable_checks as enable_checks
from glassjax.settings.options import enable_custom_prng as enable_custom_prng
from glassjax.settings.options import explain_cache_misses as explain_cache_misses
from glassjax.settings.options import (
    jax2tf_associative_scan_reductions as jax2tf_associative_scan_reductions,
)
from glassjax.settings.options import legacy_prng_key as legacy_prng_key
from glassjax.settings.options import log_compiles as log_compiles
from glassjax.settings.options import make_user_context as make_user_context
from glassjax.settings.options import no_execution as no_execution
from glassjax.settings.options import no_tracing as no_tracing
from glassjax.settings.options import (
    remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type,
)
from glassjax.settings.options import softmax_custom_jvp as softmax_custom_jvp
from glassjax.settings.options import threefry_partitionable as threefry_partitionable
from glassjax.shardings.mesh import get_abstract_mesh as get_abstract_mesh
from glassjax.shardings.mesh import get_mesh as get_mesh
from glassjax.shardings.mesh import make_mesh as make_mesh
from glassjax.shardings.mesh import set_mesh as set_mesh
from glassjax.shardings.mesh import use_abstract_mesh as use_abstract_mesh
from glassjax.shardings.sharding import NamedSharding as NamedSharding
from glassjax.transforms.autodiff import fwd_and_bwd as fwd_and_bwd
from glassjax.transforms.autodiff import grad as grad
from glassjax.transforms.autodiff import jvp as jvp
from glassjax.transforms.autodiff import linear_transpose as linear_transpose
from glassjax.transforms.autodiff import linearize as linearize
from glassjax.transforms.autodiff import typeof as typeof
from glassjax.transforms.autodiff import value_and_grad as value_and_grad
from glassjax.transforms.autodiff import vjp as vjp
from glassjax.transforms.checkpoint import checkpoint as checkpoint
from glassjax.transforms.checkpoint import checkpoint_policies as checkpoint_policies
from glassjax.transforms.custom_derivatives import closure_convert as closure_convert
from glassjax.transforms.custom_derivatives import custom_gradient as custom_gradient
from glassjax.transforms.custom_derivatives import custom_jvp as custom_jvp
from glassjax.transforms.custom_derivatives import custom_vjp as custom_vjp
from glassjax.version import __version__ as __version__
from glassjax.version import __version_info__ as __version_info__
from glassjax_stage2.shaped_array import float0 as float0

P = glassjax.shardings.partition_spec.PartitionSpec
remat = glassjax.transforms.checkpoint.checkpoint
