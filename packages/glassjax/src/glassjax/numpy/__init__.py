"""numpy's functions for Arrays, under every transformation; import it as `jnp`.

Each function takes Arrays, numpy arrays, Python numbers and tracers, and returns Arrays. Names,
argument names and defaults are the same as in `jax.numpy`.
"""

import numpy as _np

from glassjax.runtime.array import Array as _Array
from glassjax.settings.facades import lazy_facade as _lazy_facade

ndarray = _Array

e = _np.e
pi = _np.pi
euler_gamma = _np.euler_gamma
inf = _np.inf
nan = _np.nan
newaxis = None
__array_api_version__ = "2025.12"
ComplexWarning = _np.exceptions.ComplexWarning

_lazy_facade(
    globals(),
    {
        ".": "fft linalg",
        ".creation": """
            arange array array_repr array_str asarray copy empty empty_like eye frombuffer fromfile
            fromiter fromstring full full_like geomspace get_printoptions identity linspace load
            logspace ones ones_like printoptions save savez set_printoptions vander zeros zeros_like
        """,
        ".differences": "diff ediff1d gradient interp trapezoid",
        ".dtypes": "__array_namespace_info__ dtype issubdtype",
        ".einsum": "einsum einsum_path",
        ".elementwise": """
            abs absolute allclose angle array_equal array_equiv bitwise_count bitwise_invert
            bitwise_left_shift bitwise_not bitwise_right_shift cbrt clip conj conjugate divide
            divmod equal fabs float_power floor_divide fmax fmin fmod gcd greater greater_equal imag
            invert isclose iscomplex iscomplexobj isreal isrealobj isscalar iterable lcm left_shift
            less less_equal logical_not mod not_equal packbits positive pow power real reciprocal
            remainder right_shift sign sqrt square true_divide unpackbits
        """,
        ".floating_point": """
            around ceil copysign floor frexp heaviside isfinite isinf isnan isneginf isposinf ldexp
            modf nan_to_num nextafter rint round signbit spacing trunc
        """,
        ".grids": """
            c_ diag diag_indices diag_indices_from diagflat diagonal fill_diagonal fromfunction
            index_exp indices ix_ mask_indices meshgrid mgrid ogrid r_ s_ trace tri tril
            tril_indices tril_indices_from triu triu_indices triu_indices_from
        """,
        ".padding": "pad",
        ".polynomials": """
            poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots
        """,
        ".products": """
            convolve correlate cross dot inner kron matmul matvec outer tensordot vdot vecdot vecmat
        """,
        ".rearranging": "delete flip fliplr flipud insert repeat resize roll rot90 tile",
        ".reductions": """
            all amax amin any argmax argmin count_nonzero cumprod cumsum cumulative_prod
            cumulative_sum max mean min minmax nanargmax nanargmin nancumprod nancumsum nanmax
            nanmean nanmin nanprod nanstd nansum nanvar prod ptp std sum var
        """,
        ".scalar_types": """
            bfloat16 bool bool_ cdouble character complex128 complex64 complex_ complexfloating
            csingle double flexible float16 float32 float4_e2m1fn float64 float6_e2m3fn
            float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz
            float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float_ floating generic inexact int16 int2
            int32 int4 int64 int8 int_ integer number object_ signedinteger single uint uint16 uint2
            uint32 uint4 uint64 uint8 unsignedinteger
        """,
        ".selection": """
            argwhere choose compress extract flatnonzero nonzero piecewise place select trim_zeros
            where
        """,
        ".sets": """
            intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts
            unique_inverse unique_values
        """,
        ".shapes": """
            append array_split astype atleast_1d atleast_2d atleast_3d block broadcast_arrays
            broadcast_shapes broadcast_to column_stack concat concatenate dsplit dstack expand_dims
            hsplit hstack matrix_transpose moveaxis ndim permute_dims ravel reshape rollaxis shape
            size split squeeze stack swapaxes transpose unstack vsplit vstack
        """,
        ".sorting": """
            argpartition argsort digitize lexsort partition searchsorted sort sort_complex top_k
        """,
        ".statistics": """
            average bincount corrcoef cov histogram histogram2d histogram_bin_edges histogramdd
            median nanmedian nanpercentile nanquantile percentile quantile
        """,
        ".taking": "put put_along_axis ravel_multi_index take take_along_axis unravel_index",
        ".transcendental": """
            acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2
            atanh bartlett blackman cos cosh deg2rad degrees exp exp2 expm1 hamming hanning hypot i0
            kaiser log log10 log1p log2 rad2deg radians sin sinc sinh tan tanh unwrap
        """,
        ".ufuncs": """
            add bitwise_and bitwise_or bitwise_xor frompyfunc logaddexp logaddexp2 logical_and
            logical_or logical_xor maximum minimum multiply negative subtract ufunc
        """,
        ".vectorize": "apply_along_axis apply_over_axes vectorize",
        "glassjax.dlpack": "from_dlpack",
        "glassjax.dtypes": "can_cast finfo iinfo isdtype promote_types result_type",
    },
)
