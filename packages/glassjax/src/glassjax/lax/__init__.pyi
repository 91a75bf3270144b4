"""The primitives as functions, under the names of `jax.lax`.

Each takes Arrays, numpy arrays, Python numbers and tracers, and returns Arrays. Operands must have
one dtype and one shape, scalars aside, and axes count from 0, as in JAX; only `glassjax.numpy`
promotes. Primitives have their names with `_p` after them: `add_p`.
"""

from glassjax.lax import linalg as linalg
from glassjax.lax.barriers import after_all as after_all
from glassjax.lax.barriers import composite as composite
from glassjax.lax.barriers import create_token as create_token
from glassjax.lax.barriers import dce_sink as dce_sink
from glassjax.lax.barriers import optimization_barrier as optimization_barrier
from glassjax.lax.barriers import stage as stage
from glassjax.lax.barriers import stop_gradient as stop_gradient
from glassjax.lax.collectives import all_gather as all_gather
from glassjax.lax.collectives import all_to_all as all_to_all
from glassjax.lax.collectives import axis_index as axis_index
from glassjax.lax.collectives import axis_size as axis_size
from glassjax.lax.collectives import pbroadcast as pbroadcast
from glassjax.lax.collectives import pmax as pmax
from glassjax.lax.collectives import pmean as pmean
from glassjax.lax.collectives import pmin as pmin
from glassjax.lax.collectives import ppermute as ppermute
from glassjax.lax.collectives import pshuffle as pshuffle
from glassjax.lax.collectives import psum as psum
from glassjax.lax.collectives import psum_scatter as psum_scatter
from glassjax.lax.collectives import pswapaxes as pswapaxes
from glassjax.lax.collectives import ragged_all_to_all as ragged_all_to_all
from glassjax.lax.control_flow.conditionals import cond as cond
from glassjax.lax.control_flow.conditionals import platform_dependent as platform_dependent
from glassjax.lax.control_flow.conditionals import switch as switch
from glassjax.lax.control_flow.fori_loop import fori_loop as fori_loop
from glassjax.lax.control_flow.scan import map as map
from glassjax.lax.control_flow.scan import scan as scan
from glassjax.lax.control_flow.solves import custom_linear_solve as custom_linear_solve
from glassjax.lax.control_flow.solves import custom_root as custom_root
from glassjax.lax.control_flow.while_loop import while_loop as while_loop
from glassjax.lax.conversion import bitcast_convert_type as bitcast_convert_type
from glassjax.lax.conversion import convert_element_type as convert_element_type
from glassjax.lax.convolution import ConvDimensionNumbers as ConvDimensionNumbers
from glassjax.lax.convolution import (
    ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
)
from glassjax.lax.convolution import conv as conv
from glassjax.lax.convolution import conv_dimension_numbers as conv_dimension_numbers
from glassjax.lax.convolution import conv_general_dilated as conv_general_dilated
from glassjax.lax.convolution import conv_general_dilated_local as conv_general_dilated_local
from glassjax.lax.convolution import conv_general_dilated_p as conv_general_dilated_p
from glassjax.lax.convolution import conv_general_dilated_patches as conv_general_dilated_patches
from glassjax.lax.convolution import conv_general_permutations as conv_general_permutations
from glassjax.lax.convolution import conv_transpose as conv_transpose
from glassjax.lax.convolution import conv_with_general_padding as conv_with_general_padding
from glassjax.lax.cumulative import associative_scan as associative_scan
from glassjax.lax.cumulative import cumlogsumexp as cumlogsumexp
from glassjax.lax.cumulative import cummax as cummax
from glassjax.lax.cumulative import cummin as cummin
from glassjax.lax.cumulative import cumprod as cumprod
from glassjax.lax.cumulative import cumsum as cumsum
from glassjax.lax.dynamic_slicing import dynamic_index_in_dim as dynamic_index_in_dim
from glassjax.lax.dynamic_slicing import dynamic_slice as dynamic_slice
from glassjax.lax.dynamic_slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
from glassjax.lax.dynamic_slicing import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from glassjax.lax.dynamic_slicing import dynamic_update_slice as dynamic_update_slice
from glassjax.lax.dynamic_slicing import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from glassjax.lax.elementwise import RoundingMethod as RoundingMethod
from glassjax.lax.elementwise import abs as abs
from glassjax.lax.elementwise import add as add
from glassjax.lax.elementwise import bitwise_and as bitwise_and
from glassjax.lax.elementwise import bitwise_not as bitwise_not
from glassjax.lax.elementwise import bitwise_or as bitwise_or
from glassjax.lax.elementwise import bitwise_xor as bitwise_xor
from glassjax.lax.elementwise import ceil as ceil
from glassjax.lax.elementwise import clamp as clamp
from glassjax.lax.elementwise import clz as clz
from glassjax.lax.elementwise import complex as complex
from glassjax.lax.elementwise import conj as conj
from glassjax.lax.elementwise import div as div
from glassjax.lax.elementwise import eq as eq
from glassjax.lax.elementwise import floor as floor
from glassjax.lax.elementwise import ge as ge
from glassjax.lax.elementwise import gt as gt
from glassjax.lax.elementwise import imag as imag
from glassjax.lax.elementwise import integer_pow as integer_pow
from glassjax.lax.elementwise import is_finite as is_finite
from glassjax.lax.elementwise import le as le
from glassjax.lax.elementwise import lt as lt
from glassjax.lax.elementwise import max as max
from glassjax.lax.elementwise import min as min
from glassjax.lax.elementwise import mul as mul
from glassjax.lax.elementwise import mulhi as mulhi
from glassjax.lax.elementwise import ne as ne
from glassjax.lax.elementwise import neg as neg
from glassjax.lax.elementwise import nextafter as nextafter
from glassjax.lax.elementwise import one_minus_square as one_minus_square
from glassjax.lax.elementwise import population_count as population_count
from glassjax.lax.elementwise import pow as pow
from glassjax.lax.elementwise import real as real
from glassjax.lax.elementwise import reciprocal as reciprocal
from glassjax.lax.elementwise import reduce_precision as reduce_precision
from glassjax.lax.elementwise import rem as rem
from glassjax.lax.elementwise import round as round
from glassjax.lax.elementwise import select as select
from glassjax.lax.elementwise import select_n as select_n
from glassjax.lax.elementwise import shift_left as shift_left
from glassjax.lax.elementwise import shift_right_arithmetic as shift_right_arithmetic
from glassjax.lax.elementwise import shift_right_logical as shift_right_logical
from glassjax.lax.elementwise import sign as sign
from glassjax.lax.elementwise import square as square
from glassjax.lax.elementwise import sub as sub
from glassjax.lax.fourier import FftType as FftType
from glassjax.lax.fourier import fft as fft
from glassjax.lax.gathering import GatherDimensionNumbers as GatherDimensionNumbers
from glassjax.lax.gathering import GatherScatterMode as GatherScatterMode
from glassjax.lax.gathering import ScatterDimensionNumbers as ScatterDimensionNumbers
from glassjax.lax.gathering import gather as gather
from glassjax.lax.gathering import index_take as index_take
from glassjax.lax.incomplete_beta import betainc as betainc
from glassjax.lax.incomplete_gamma import igamma as igamma
from glassjax.lax.incomplete_gamma import igamma_grad_a as igamma_grad_a
from glassjax.lax.incomplete_gamma import igammac as igammac
from glassjax.lax.incomplete_gamma import random_gamma_grad as random_gamma_grad
from glassjax.lax.placement import device_put as device_put
from glassjax.lax.precision import DotAlgorithm as DotAlgorithm
from glassjax.lax.precision import DotAlgorithmPreset as DotAlgorithmPreset
from glassjax.lax.precision import Precision as Precision
from glassjax.lax.precision import PrecisionLike as PrecisionLike
from glassjax.lax.products import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
from glassjax.lax.products import batch_matmul as batch_matmul
from glassjax.lax.products import dot as dot
from glassjax.lax.products import dot_general as dot_general
from glassjax.lax.products import ragged_dot as ragged_dot
from glassjax.lax.products import ragged_dot_general as ragged_dot_general
from glassjax.lax.products import scaled_dot as scaled_dot
from glassjax.lax.random_bits import RandomAlgorithm as RandomAlgorithm
from glassjax.lax.random_bits import rng_bit_generator as rng_bit_generator
from glassjax.lax.random_bits import rng_uniform as rng_uniform
from glassjax.lax.reductions import argmax as argmax
from glassjax.lax.reductions import argmin as argmin
from glassjax.lax.reductions import reduce as reduce
from glassjax.lax.reductions import reduce_and as reduce_and
from glassjax.lax.reductions import reduce_max as reduce_max
from glassjax.lax.reductions import reduce_min as reduce_min
from glassjax.lax.reductions import reduce_or as reduce_or
from glassjax.lax.reductions import reduce_prod as reduce_prod
from glassjax.lax.reductions import reduce_sum as reduce_sum
from glassjax.lax.reductions import reduce_xor as reduce_xor
from glassjax.lax.scattering import scatter as scatter
from glassjax.lax.scattering import scatter_add as scatter_add
from glassjax.lax.scattering import scatter_apply as scatter_apply
from glassjax.lax.scattering import scatter_max as scatter_max
from glassjax.lax.scattering import scatter_min as scatter_min
from glassjax.lax.scattering import scatter_mul as scatter_mul
from glassjax.lax.scattering import scatter_sub as scatter_sub
from glassjax.lax.series import polynomial as polynomial
from glassjax.lax.shape_rules import conv_general_shape_tuple as conv_general_shape_tuple
from glassjax.lax.shape_rules import conv_shape_tuple as conv_shape_tuple
from glassjax.lax.shape_rules import conv_transpose_shape_tuple as conv_transpose_shape_tuple
from glassjax.lax.shape_rules import dtype as dtype
from glassjax.lax.shape_rules import reduce_window_shape_tuple as reduce_window_shape_tuple
from glassjax.lax.shape_rules import shape_as_value as shape_as_value
from glassjax.lax.shapes import broadcast as broadcast
from glassjax.lax.shapes import broadcast_in_dim as broadcast_in_dim
from glassjax.lax.shapes import broadcast_like as broadcast_like
from glassjax.lax.shapes import broadcast_shapes as broadcast_shapes
from glassjax.lax.shapes import broadcast_to_rank as broadcast_to_rank
from glassjax.lax.shapes import broadcasted_iota as broadcasted_iota
from glassjax.lax.shapes import collapse as collapse
from glassjax.lax.shapes import empty as empty
from glassjax.lax.shapes import expand_dims as expand_dims
from glassjax.lax.shapes import full as full
from glassjax.lax.shapes import full_like as full_like
from glassjax.lax.shapes import iota as iota
from glassjax.lax.shapes import reshape as reshape
from glassjax.lax.shapes import rev as rev
from glassjax.lax.shapes import squeeze as squeeze
from glassjax.lax.shapes import tile as tile
from glassjax.lax.shapes import transpose as transpose
from glassjax.lax.sharding import pcast as pcast
from glassjax.lax.sharding import with_sharding_constraint as with_sharding_constraint
from glassjax.lax.slicing import concatenate as concatenate
from glassjax.lax.slicing import index_in_dim as index_in_dim
from glassjax.lax.slicing import pad as pad
from glassjax.lax.slicing import slice as slice
from glassjax.lax.slicing import slice_in_dim as slice_in_dim
from glassjax.lax.slicing import split as split
from glassjax.lax.slicing import stack as stack
from glassjax.lax.slicing import unstack as unstack
from glassjax.lax.sorting import approx_max_k as approx_max_k
from glassjax.lax.sorting import approx_min_k as approx_min_k
from glassjax.lax.sorting import sort as sort
from glassjax.lax.sorting import sort_key_val as sort_key_val
from glassjax.lax.sorting import top_k as top_k
from glassjax.lax.special import bessel_i0e as bessel_i0e
from glassjax.lax.special import bessel_i1e as bessel_i1e
from glassjax.lax.special import digamma as digamma
from glassjax.lax.special import erf as erf
from glassjax.lax.special import erf_inv as erf_inv
from glassjax.lax.special import erfc as erfc
from glassjax.lax.special import lgamma as lgamma
from glassjax.lax.special import polygamma as polygamma
from glassjax.lax.special import zeta as zeta
from glassjax.lax.transcendental import AccuracyMode as AccuracyMode
from glassjax.lax.transcendental import Tolerance as Tolerance
from glassjax.lax.transcendental import acos as acos
from glassjax.lax.transcendental import acosh as acosh
from glassjax.lax.transcendental import asin as asin
from glassjax.lax.transcendental import asinh as asinh
from glassjax.lax.transcendental import atan as atan
from glassjax.lax.transcendental import atan2 as atan2
from glassjax.lax.transcendental import atanh as atanh
from glassjax.lax.transcendental import cbrt as cbrt
from glassjax.lax.transcendental import cos as cos
from glassjax.lax.transcendental import cosh as cosh
from glassjax.lax.transcendental import exp as exp
from glassjax.lax.transcendental import exp2 as exp2
from glassjax.lax.transcendental import expm1 as expm1
from glassjax.lax.transcendental import log as log
from glassjax.lax.transcendental import log1p as log1p
from glassjax.lax.transcendental import log2 as log2
from glassjax.lax.transcendental import logistic as logistic
from glassjax.lax.transcendental import rsqrt as rsqrt
from glassjax.lax.transcendental import sin as sin
from glassjax.lax.transcendental import sinh as sinh
from glassjax.lax.transcendental import sqrt as sqrt
from glassjax.lax.transcendental import tan as tan
from glassjax.lax.transcendental import tanh as tanh
from glassjax.lax.windowed_reductions import padtype_to_pads as padtype_to_pads
from glassjax.lax.windowed_reductions import reduce_window as reduce_window
from glassjax_stage2 import Primitive
from glassjax_stage2.primitives import DotDimensionNumbers as DotDimensionNumbers

abs_p: Primitive
acos_p: Primitive
acosh_p: Primitive
add_p: Primitive
add_any_p: Primitive
after_all_p: Primitive
all_gather_p: Primitive
all_gather_invariant_p: Primitive
all_gather_reduced_p: Primitive
all_to_all_p: Primitive
and_p: Primitive
approx_top_k_p: Primitive
argmax_p: Primitive
argmin_p: Primitive
asin_p: Primitive
asinh_p: Primitive
atan_p: Primitive
atan2_p: Primitive
atanh_p: Primitive
axis_index_p: Primitive
bessel_i0e_p: Primitive
bessel_i1e_p: Primitive
beta_density_p: Primitive
betaln_p: Primitive
bitcast_convert_type_p: Primitive
broadcast_in_dim_p: Primitive
call_exported_p: Primitive
cbrt_p: Primitive
ceil_p: Primitive
checkpoint_p: Primitive
cholesky_p: Primitive
cholesky_update_p: Primitive
clamp_p: Primitive
clz_p: Primitive
comb_p: Primitive
complex_p: Primitive
concatenate_p: Primitive
cond_p: Primitive
conj_p: Primitive
convert_element_type_p: Primitive
copy_p: Primitive
cos_p: Primitive
cos_of_square_p: Primitive
cosh_p: Primitive
cosine_integral_p: Primitive
create_token_p: Primitive
cumlogsumexp_p: Primitive
cummax_p: Primitive
cummin_p: Primitive
cumprod_p: Primitive
cumsum_p: Primitive
custom_jvp_call_p: Primitive
custom_linear_p: Primitive
custom_vjp_call_p: Primitive
custom_vmap_call_p: Primitive
dawsn_p: Primitive
dawsn_slope_p: Primitive
debug_callback_p: Primitive
det_p: Primitive
device_put_p: Primitive
digamma_p: Primitive
div_p: Primitive
dot_general_p: Primitive
dynamic_slice_p: Primitive
dynamic_update_slice_p: Primitive
effectful_call_exported_p: Primitive
eig_p: Primitive
eigh_p: Primitive
empty2_p: Primitive
eq_p: Primitive
eq_to_p: Primitive
erf_p: Primitive
erf_inv_p: Primitive
erfc_p: Primitive
erfcx_p: Primitive
erfcx_slope_p: Primitive
exp_p: Primitive
exp1_p: Primitive
exp2_p: Primitive
exp_neg_sq_p: Primitive
expi_p: Primitive
expm1_p: Primitive
expn_p: Primitive
fft_p: Primitive
floor_p: Primitive
fresnel_cos_p: Primitive
fresnel_sin_p: Primitive
gamma_density_p: Primitive
gather_p: Primitive
ge_p: Primitive
gelu_p: Primitive
gelu_slope_p: Primitive
gelu_slope_slope_p: Primitive
geqp3_p: Primitive
geqrf_p: Primitive
growth_of_digamma_p: Primitive
gt_p: Primitive
hessenberg_p: Primitive
householder_product_p: Primitive
hyp1f1_p: Primitive
hyp1f1_slope_0_p: Primitive
hyp1f1_slope_1_p: Primitive
hyp2f1_p: Primitive
hyp2f1_slope_0_p: Primitive
hyp2f1_slope_1_p: Primitive
hyp2f1_slope_2_p: Primitive
hypot_p: Primitive
i0_p: Primitive
igamma_p: Primitive
igamma_grad_a_p: Primitive
igammac_p: Primitive
imag_p: Primitive
inspect_sharding_p: Primitive
integer_pow_p: Primitive
io_callback_p: Primitive
iota_p: Primitive
is_finite_p: Primitive
jit_p: Primitive
key_use_p: Primitive
kullback_leibler_p: Primitive
le_p: Primitive
le_to_p: Primitive
lgamma_p: Primitive
lgamma_of_64_bits_p: Primitive
linear_solve_p: Primitive
log_p: Primitive
log1mexp_p: Primitive
log1mexp_slope_p: Primitive
log1mexp_slope_slope_p: Primitive
log1p_p: Primitive
log2_p: Primitive
log_ndtr_p: Primitive
log_of_backward_pass_p: Primitive
log_quotient_p: Primitive
logaddexp_p: Primitive
logaddexp2_p: Primitive
logistic_p: Primitive
logit_p: Primitive
lt_p: Primitive
lt_to_p: Primitive
lu_p: Primitive
lu_pivots_to_permutation_p: Primitive
lu_solve_p: Primitive
max_p: Primitive
mean_exponential_p: Primitive
mean_exponential_slope_p: Primitive
min_p: Primitive
mish_p: Primitive
mish_slope_p: Primitive
mish_slope_slope_p: Primitive
mul_p: Primitive
mulhi_p: Primitive
name_p: Primitive
ndtri_p: Primitive
ndtri_slope_p: Primitive
ne_p: Primitive
neg_p: Primitive
nextafter_p: Primitive
not_p: Primitive
one_minus_square_p: Primitive
optimization_barrier_p: Primitive
or_p: Primitive
ormqr_p: Primitive
owens_t_p: Primitive
pad_p: Primitive
pallas_call_p: Primitive
part_of_sum_p: Primitive
pinv_p: Primitive
platform_index_p: Primitive
pmax_p: Primitive
pmin_p: Primitive
poch_p: Primitive
polygamma_p: Primitive
polynomial_p: Primitive
population_count_p: Primitive
pow_p: Primitive
ppermute_p: Primitive
preduced_p: Primitive
psum_p: Primitive
pure_callback_p: Primitive
pvary_p: Primitive
qr_p: Primitive
ragged_all_to_all_p: Primitive
random_bits_p: Primitive
random_fold_in_p: Primitive
random_gamma_p: Primitive
random_gamma_grad_p: Primitive
random_seed_p: Primitive
random_split_p: Primitive
random_unwrap_p: Primitive
random_wrap_p: Primitive
real_p: Primitive
reduce_p: Primitive
reduce_and_p: Primitive
reduce_max_p: Primitive
reduce_min_p: Primitive
reduce_or_p: Primitive
reduce_precision_p: Primitive
reduce_prod_p: Primitive
reduce_scatter_p: Primitive
reduce_sum_p: Primitive
reduce_window_p: Primitive
reduce_window_max_p: Primitive
reduce_window_min_p: Primitive
reduce_window_sum_p: Primitive
reduce_xor_p: Primitive
reduced_vary_cast_p: Primitive
regularized_incomplete_beta_p: Primitive
relative_entropy_p: Primitive
relu_p: Primitive
relu6_p: Primitive
rem_p: Primitive
reshape_p: Primitive
reshard_p: Primitive
rev_p: Primitive
rng_bit_generator_p: Primitive
rng_uniform_p: Primitive
round_p: Primitive
rsqrt_p: Primitive
scan_p: Primitive
scatter_p: Primitive
scatter_add_p: Primitive
scatter_apply_p: Primitive
scatter_max_p: Primitive
scatter_min_p: Primitive
scatter_mul_p: Primitive
scatter_sub_p: Primitive
schur_p: Primitive
select_and_gather_add_p: Primitive
select_and_scatter_p: Primitive
select_and_scatter_add_p: Primitive
select_n_p: Primitive
shard_map_p: Primitive
sharding_constraint_p: Primitive
shift_left_p: Primitive
shift_right_arithmetic_p: Primitive
shift_right_logical_p: Primitive
sign_p: Primitive
sin_p: Primitive
sin_of_square_p: Primitive
sine_integral_p: Primitive
sinh_p: Primitive
slice_p: Primitive
slogdet_p: Primitive
slope_of_zeta_p: Primitive
sort_p: Primitive
spence_p: Primitive
split_p: Primitive
sqrt_p: Primitive
square_p: Primitive
squeeze_p: Primitive
stack_p: Primitive
stage_p: Primitive
stop_gradient_p: Primitive
sub_p: Primitive
svd_p: Primitive
symmetric_product_p: Primitive
tan_p: Primitive
tanh_p: Primitive
threefry2x32_p: Primitive
tile_p: Primitive
to_auto_p: Primitive
top_k_p: Primitive
transpose_p: Primitive
triangular_solve_p: Primitive
tridiagonal_p: Primitive
tridiagonal_solve_p: Primitive
unreduced_psum_p: Primitive
unreduced_reduce_scatter_p: Primitive
unstack_p: Primitive
vary_unreduced_cast_p: Primitive
while_p: Primitive
wofz_p: Primitive
xlog1py_p: Primitive
xlogx_p: Primitive
xlogy_p: Primitive
xor_p: Primitive
zeta_p: Primitive
