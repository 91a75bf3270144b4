"""temporary"""
from minijax.declare import binary, declare, unary
from minijax.operation import operation
import numpy as np
from minijax_stage2 import Primitive, ShapedArray, bind1
from minijax_stage2.vmap_rules import elementwise
from minijax_stage3.lowering import signature
shift_right_logical = binary("shift_right_logical", "x", hlo="shift_right_logical", kinds="iu")
shift_left = binary("shift_left", "x", hlo="shift_left", kinds="iu")
bitwise_xor = binary("xor", "x", hlo="xor", kinds="biu")
bitcast_p = Primitive("bitcast_convert_type")
def _low(b, out_avals, x, *, new_dtype):
    return b.emit(f"stablehlo.bitcast_convert {x.name} : {signature([x], out_avals)}", *out_avals)
declare(bitcast_p, abstract_eval=lambda x, *, new_dtype: [ShapedArray(x.shape, new_dtype)], lower=_low, vmap=elementwise(bitcast_p))
@operation(static="new_dtype")
def bitcast_convert_type(operand, new_dtype):
    return bind1(bitcast_p, operand, new_dtype=np.dtype(new_dtype))
import minijax.lax as lax
for n in ["shift_right_logical","shift_left","bitwise_xor","bitcast_convert_type"]:
    if not hasattr(lax, n): setattr(lax,n,globals()[n])
