"""The primitives as functions, under the names of `jax.lax`.

Each takes Arrays, numpy arrays, Python numbers and tracers, and returns Arrays. Operands must have
one dtype and one shape, scalars aside, and axes count from 0, as in JAX; only `glassjax.numpy`
promotes. Primitives have their names with `_p` after them: `add_p`.
"""

from glassjax.settings.facades import lazy_facade as _lazy_facade
from glassjax.settings.facades import primitives_by as _primitives_by

_lazy_facade(
    globals(),
    {
        ".": "linalg",
        ".barriers": """
            after_all composite create_token dce_sink optimization_barrier stage stop_gradient
        """,
        ".collectives": """
            all_gather all_to_all axis_index axis_size pbroadcast pmax pmean pmin ppermute pshuffle
            psum psum_scatter pswapaxes ragged_all_to_all
        """,
        ".control_flow.conditionals": "cond platform_dependent switch",
        ".control_flow.fori_loop": "fori_loop",
        ".control_flow.scan": "map scan",
        ".control_flow.solves": "custom_linear_solve custom_root",
        ".control_flow.while_loop": "while_loop",
        ".conversion": "bitcast_convert_type convert_element_type",
        ".convolution": """
            ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers conv conv_dimension_numbers
            conv_general_dilated conv_general_dilated_local conv_general_dilated_p
            conv_general_dilated_patches conv_general_permutations conv_transpose
            conv_with_general_padding
        """,
        ".cumulative": "associative_scan cumlogsumexp cummax cummin cumprod cumsum",
        ".dynamic_slicing": """
            dynamic_index_in_dim dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim
            dynamic_update_slice dynamic_update_slice_in_dim
        """,
        ".elementwise": """
            RoundingMethod abs add bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clz
            complex conj div eq floor ge gt imag integer_pow is_finite le lt max min mul mulhi ne
            neg nextafter one_minus_square population_count pow real reciprocal reduce_precision rem
            round select select_n shift_left shift_right_arithmetic shift_right_logical sign square
            sub
        """,
        ".fourier": "FftType fft",
        ".gathering": """
            GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers gather index_take
        """,
        ".incomplete_beta": "betainc",
        ".incomplete_gamma": "igamma igamma_grad_a igammac random_gamma_grad",
        ".placement": "device_put",
        ".precision": "DotAlgorithm DotAlgorithmPreset Precision PrecisionLike",
        ".products": """
            RaggedDotDimensionNumbers batch_matmul dot dot_general ragged_dot ragged_dot_general
            scaled_dot
        """,
        ".random_bits": "RandomAlgorithm rng_bit_generator rng_uniform",
        ".reductions": """
            argmax argmin reduce reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum
            reduce_xor
        """,
        ".scattering": """
            scatter scatter_add scatter_apply scatter_max scatter_min scatter_mul scatter_sub
        """,
        ".shape_rules": """
            conv_general_shape_tuple conv_shape_tuple conv_transpose_shape_tuple dtype
            reduce_window_shape_tuple shape_as_value
        """,
        ".shapes": """
            broadcast broadcast_in_dim broadcast_like broadcast_shapes broadcast_to_rank
            broadcasted_iota collapse empty expand_dims full full_like iota reshape rev squeeze tile
            transpose
        """,
        ".series": "polynomial",
        ".sharding": "pcast with_sharding_constraint",
        ".slicing": "concatenate index_in_dim pad slice slice_in_dim split stack unstack",
        ".sorting": "approx_max_k approx_min_k sort sort_key_val top_k",
        ".special": "bessel_i0e bessel_i1e digamma erf erf_inv erfc lgamma polygamma zeta",
        ".transcendental": """
            AccuracyMode Tolerance acos acosh asin asinh atan atan2 atanh cbrt cos cosh exp exp2
            expm1 log log1p log2 logistic rsqrt sin sinh sqrt tan tanh
        """,
        ".windowed_reductions": "padtype_to_pads reduce_window",
        "glassjax_stage2.primitives": "DotDimensionNumbers",
    },
    otherwise=_primitives_by("primitive_named"),
)
