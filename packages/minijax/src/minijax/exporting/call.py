"""The call of an exported program: a primitive that holds StableHLO instead of a jaxpr."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn

from minijax import xla
from minijax.primitives.declare_program import declare_program
from minijax.runtime.partitioning import evaluate_jaxpr
from minijax_stage2 import Primitive, ShapedArray, bind
from minijax_stage3 import (
    Jaxpr,
    JaxprEqn,
    Var,
    lowering_rules,
)
from minijax_stage3.abstract_eval import require_accepted
from minijax_stage3.lowering import FunctionBuilder, Value, mlir_type, signature, symbol

call_exported_p = Primitive("call_exported", higher_order=True)


class PortableProgram:
    """A program in StableHLO, and the types of its arguments and results."""

    def __init__(
        self,
        name: str,
        data: bytes,
        in_avals: Sequence[ShapedArray],
        out_avals: Sequence[ShapedArray],
    ):
        self.name = name
        self.data = data
        self.in_avals = tuple(in_avals)
        self.out_avals = tuple(out_avals)

    @cached_property
    def text(self) -> str:
        """The module as text.

        Raises:
            ValueError: this version of jaxlib cannot read the data, or the program has other types.
        """
        try:
            text, found = xla.from_portable(self.data)
        except (RuntimeError, ValueError) as error:
            raise ValueError(
                f"export: jaxlib {xla.jaxlib_version()} cannot read the program of "
                f"`{self.name}`, which a newer version may have written: {error}"
            ) from None
        takes = [Value("", aval) for aval in self.in_avals]
        if found != (expected := signature(takes, self.out_avals)):
            raise ValueError(
                f"export: the program of `{self.name}` should be {expected}, and is {found}"
            )
        return text

    @cached_property
    def jaxpr(self) -> Jaxpr:
        """A jaxpr that only calls it."""
        invars = [Var(aval) for aval in self.in_avals]
        outvars = [Var(aval) for aval in self.out_avals]
        return Jaxpr(
            [], invars, [JaxprEqn(call_exported_p, invars, outvars, {"program": self})], outvars
        )

    def __call__(self, *leaves: Any) -> list[Any]:
        return bind(call_exported_p, *leaves, program=self)

    def __repr__(self) -> str:
        return self.name


def _evaluate(*args: Any, program: PortableProgram) -> list[Any]:
    return evaluate_jaxpr(program.jaxpr, f"exported_{program.name}", args)


def _abstract_eval(*in_avals: ShapedArray, program: PortableProgram) -> list[ShapedArray]:
    require_accepted(f"the exported `{program.name}`", program.in_avals, in_avals)
    return list(program.out_avals)


def _lower(
    b: FunctionBuilder,
    out_avals: Sequence[ShapedArray],
    *args: Value,
    program: PortableProgram,
) -> list[Value]:
    """Put the functions of the program into the module, under new names, and a call."""
    function = b.module.names.get(program.jaxpr)
    if function is None:
        prefix = f"exported_{symbol(program.name)}_{len(b.module.names)}"
        function = b.module.names[program.jaxpr] = f"{prefix}_main"
        b.module.functions.append(_functions_of(program.text, prefix))
    names = ", ".join(x.name for x in args)
    return b.emit(f"func.call @{function}({names}) : {signature(args, out_avals)}", *out_avals)


_SYMBOL = re.compile(r"@([\w.$-]+)")
_FUNCTION = re.compile(r"func\.func (?:public |private )?@([\w.$-]+)")


def _functions_of(text: str, prefix: str) -> str:
    """The functions of a module, private, their names begun with `prefix`."""
    body = text[text.index("{\n", text.index("module")) + 2 : text.rindex("}")].rstrip()
    names = set(_FUNCTION.findall(body))

    def renamed(match: re.Match[str]) -> str:
        return f"@{prefix}_{match[1]}" if match[1] in names else match[0]

    body = _SYMBOL.sub(renamed, body)
    return re.sub(r"func\.func (?:public |private )?@", "func.func private @", body)


def _refuse(what: str, remedy: str) -> Any:
    def rule(*args: Any, program: PortableProgram, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"the exported `{program.name}` cannot be {what}: only its compiled form was "
            f"exported. {remedy}"
        )

    return rule


declare_program(
    call_exported_p,
    evaluate=_evaluate,
    abstract_eval=_abstract_eval,
    lower=_lower,
    vmap=_refuse("mapped", "Export the mapped function instead: export(jit(vmap(f)))(...)."),
    jvp=_refuse(
        "differentiated", "Export its gradient instead: export(jit(value_and_grad(f)))(...)."
    ),
    transpose=None,
    partial_eval=None,
    dce=None,
    dependence=None,
    order=None,
    keys=None,
    steps=None,
)

# An array in the text of a program: what a function closes over has to travel with it.
constant_p = Primitive("constant")


def _lower_constant(
    b: FunctionBuilder, out_avals: Sequence[ShapedArray], *, value: Any
) -> list[Value]:
    (aval,) = out_avals
    if aval.size == 0:
        literal = ""
    elif aval.dtype.kind == "b":
        literal = str(value.tolist()).lower()
    else:
        literal = f'"0x{value.astype(value.dtype.newbyteorder("<")).tobytes().hex()}"'
    return b.emit(f"stablehlo.constant dense<{literal}> : {mlir_type(aval)}", aval)


lowering_rules[constant_p] = _lower_constant
