"""minijax: JAX rebuilt from first principles. The full library, with JAX's public names.

It is built on four stages, `minijax_stage1` to `minijax_stage4`, each a package to learn from.
"""

import minijax.shardings.partition_spec
import minijax.transforms.checkpoint
from minijax import ad as ad
from minijax import ad_checkpoint as ad_checkpoint
from minijax import api_util as api_util
from minijax import checkpoints as checkpoints
from minijax import core as core
from minijax import custom_batching as custom_batching
from minijax import custom_derivatives as custom_derivatives
from minijax import debug as debug
from minijax import distributed as distributed
from minijax import dlpack as dlpack
from minijax import dtypes as dtypes
from minijax import errors as errors
from minijax import experimental as experimental
from minijax import export as export
from minijax import extend as extend
from minijax import ffi as ffi
from minijax import flatten_util as flatten_util
from minijax import image as image
from minijax import interpreters as interpreters
from minijax import lax as lax
from minijax import memory as memory
from minijax import nn as nn
from minijax import numpy as numpy
from minijax import ops as ops
from minijax import profiler as profiler
from minijax import random as random
from minijax import ref as ref
from minijax import scipy as scipy
from minijax import sharding as sharding
from minijax import stages as stages
from minijax import test_util as test_util
from minijax import tree as tree
from minijax import tree_util as tree_util
from minijax import typing as typing
from minijax import version as version
from minijax.as_jax import coverage as coverage
from minijax.as_jax import install_as_jax as install_as_jax
from minijax.callbacks import effects_barrier as effects_barrier
from minijax.callbacks import pure_callback as pure_callback
from minijax.checks import check_tracer_leaks as check_tracer_leaks
from minijax.checks import checking_leaks as checking_leaks
from minijax.checks import clear_caches as clear_caches
from minijax.checks import print_environment_info as print_environment_info
from minijax.errors import explain_error as explain_error
from minijax.explaining.explain import explain as explain
from minijax.explaining.recorder import record as record
from minijax.lax.precision import default_matmul_precision as default_matmul_precision
from minijax.lax.resharding import reshard as reshard
from minijax.lax.sharding import device_put as device_put
from minijax.numpy.indexing import ds as ds
from minijax.parallel.pmap import pmap as pmap
from minijax.parallel.shard_map import shard_map as shard_map
from minijax.parallel.shard_map import smap as smap
from minijax.ref import empty_ref as empty_ref
from minijax.ref import free_ref as free_ref
from minijax.ref import freeze as freeze
from minijax.ref import new_ref as new_ref
from minijax.runtime.array import Array as Array
from minijax.runtime.array import Shard as Shard
from minijax.runtime.devices import Device as Device
from minijax.runtime.devices import array_garbage_collection_guard as array_garbage_collection_guard
from minijax.runtime.devices import block_until_ready as block_until_ready
from minijax.runtime.devices import copy_to_host_async as copy_to_host_async
from minijax.runtime.devices import default_backend as default_backend
from minijax.runtime.devices import default_device as default_device
from minijax.runtime.devices import device_count as device_count
from minijax.runtime.devices import device_get as device_get
from minijax.runtime.devices import devices as devices
from minijax.runtime.devices import host_count as host_count
from minijax.runtime.devices import host_id as host_id
from minijax.runtime.devices import host_ids as host_ids
from minijax.runtime.devices import live_arrays as live_arrays
from minijax.runtime.devices import local_device_count as local_device_count
from minijax.runtime.devices import local_devices as local_devices
from minijax.runtime.devices import process_count as process_count
from minijax.runtime.devices import process_index as process_index
from minijax.runtime.devices import process_indices as process_indices
from minijax.runtime.devices import thread_guard as thread_guard
from minijax.runtime.devices import transfer_guard as transfer_guard
from minijax.runtime.devices import (
    transfer_guard_device_to_device as transfer_guard_device_to_device,
)
from minijax.runtime.devices import transfer_guard_device_to_host as transfer_guard_device_to_host
from minijax.runtime.devices import transfer_guard_host_to_device as transfer_guard_host_to_device
from minijax.runtime.evaluation import enable_x64 as enable_x64
from minijax.runtime.evaluation import ensure_compile_time_eval as ensure_compile_time_eval
from minijax.runtime.evaluation import numpy_dtype_promotion as numpy_dtype_promotion
from minijax.runtime.evaluation import numpy_rank_promotion as numpy_rank_promotion
from minijax.runtime.jit import Inline as Inline
from minijax.runtime.jit import jit as jit
from minijax.runtime.make_array import make_array_from_callback as make_array_from_callback
from minijax.runtime.make_array import (
    make_array_from_process_local_data as make_array_from_process_local_data,
)
from minijax.runtime.make_array import (
    make_array_from_single_device_arrays as make_array_from_single_device_arrays,
)
from minijax.runtime.named_scope import named_call as named_call
from minijax.runtime.named_scope import named_scope as named_scope
from minijax.runtime.refs import Ref as Ref
from minijax.runtime.staging import ShapeDtypeStruct as ShapeDtypeStruct
from minijax.runtime.staging import eval_shape as eval_shape
from minijax.runtime.staging import make_jaxpr as make_jaxpr
from minijax.settings.config import config as config
from minijax.settings.options import CompilerEffortLevel as CompilerEffortLevel
from minijax.settings.options import allow_f16_reductions as allow_f16_reductions
from minijax.settings.options import auto_pcast as auto_pcast
from minijax.settings.options import debug_infs as debug_infs
from minijax.settings.options import debug_key_reuse as debug_key_reuse
from minijax.settings.options import debug_nans as debug_nans
from minijax.settings.options import default_prng_impl as default_prng_impl
from minijax.settings.options import disable_jit as disable_jit
from minijax.settings.options import enable_checks as enable_checks
from minijax.settings.options import enable_custom_prng as enable_custom_prng
from minijax.settings.options import explain_cache_misses as explain_cache_misses
from minijax.settings.options import (
    jax2tf_associative_scan_reductions as jax2tf_associative_scan_reductions,
)
from minijax.settings.options import legacy_prng_key as legacy_prng_key
from minijax.settings.options import log_compiles as log_compiles
from minijax.settings.options import make_user_context as make_user_context
from minijax.settings.options import no_execution as no_execution
from minijax.settings.options import no_tracing as no_tracing
from minijax.settings.options import (
    remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type,
)
from minijax.settings.options import softmax_custom_jvp as softmax_custom_jvp
from minijax.settings.options import threefry_partitionable as threefry_partitionable
from minijax.shardings.mesh import get_abstract_mesh as get_abstract_mesh
from minijax.shardings.mesh import get_mesh as get_mesh
from minijax.shardings.mesh import make_mesh as make_mesh
from minijax.shardings.mesh import set_mesh as set_mesh
from minijax.shardings.mesh import use_abstract_mesh as use_abstract_mesh
from minijax.shardings.sharding import NamedSharding as NamedSharding
from minijax.transforms.autodiff import fwd_and_bwd as fwd_and_bwd
from minijax.transforms.autodiff import grad as grad
from minijax.transforms.autodiff import jvp as jvp
from minijax.transforms.autodiff import linear_transpose as linear_transpose
from minijax.transforms.autodiff import linearize as linearize
from minijax.transforms.autodiff import typeof as typeof
from minijax.transforms.autodiff import value_and_grad as value_and_grad
from minijax.transforms.autodiff import vjp as vjp
from minijax.transforms.checkpoint import checkpoint as checkpoint
from minijax.transforms.checkpoint import checkpoint_policies as checkpoint_policies
from minijax.transforms.custom_derivatives import closure_convert as closure_convert
from minijax.transforms.custom_derivatives import custom_gradient as custom_gradient
from minijax.transforms.custom_derivatives import custom_jvp as custom_jvp
from minijax.transforms.custom_derivatives import custom_vjp as custom_vjp
from minijax.transforms.jacobian import hessian as hessian
from minijax.transforms.jacobian import jacfwd as jacfwd
from minijax.transforms.jacobian import jacobian as jacobian
from minijax.transforms.jacobian import jacrev as jacrev
from minijax.transforms.vmap import vmap as vmap
from minijax.version import __version__ as __version__
from minijax.version import __version_info__ as __version_info__
from minijax_stage2.shaped_array import float0 as float0

P = minijax.shardings.partition_spec.PartitionSpec
remat = minijax.transforms.checkpoint.checkpoint
