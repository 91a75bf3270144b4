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
from minijax_stage2.promotion import is_inexact
import minijax.lax as L
rem = binary("rem", "x", hlo="remainder", kinds="iuf")
nextafter_p = Primitive("nextafter")
def _chlo(name):
    def low(b, out_avals, *xs):
        (out,) = out_avals
        xs = [b.spread(x, out.shape) for x in xs]
        types = signature(xs, out_avals).replace("(","").replace(")","")
        return b.emit(f"chlo.{name} {', '.join(x.name for x in xs)} : {types}", out)
    return low
from minijax_stage3.abstract_eval import arithmetic
declare(nextafter_p, abstract_eval=arithmetic(nextafter_p), lower=_chlo("next_after"), vmap=elementwise(nextafter_p))
from minijax_stage2 import promote
@operation
def nextafter(x, y): return bind1(nextafter_p, *promote(x, y))
def _un(name, chlo, jvp):
    p = Primitive(name)
    declare(p, abstract_eval=lambda x: [x], lower=_chlo(chlo), vmap=elementwise(p), jvp=(jvp,))
    return operation(lambda x: bind1(p, x))
erf = _un("erf", "erf", lambda t, out, x: L.mul(t, L.mul(2/np.sqrt(np.pi), L.exp(L.neg(L.square(x))))))
erf_inv = _un("erf_inv", "erf_inv", lambda t, out, x: L.mul(t, L.mul(np.sqrt(np.pi)/2, L.exp(L.square(out)))))
lgamma = _un("lgamma", "lgamma", None)
for n in ["rem","nextafter","erf","erf_inv", "lgamma"]:
    if not hasattr(lax, n): setattr(lax,n,globals()[n])
