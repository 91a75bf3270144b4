"""Modules for all sizes: StableHLO whose shapes are expressions of dimension variables.

While a program with symbolic shapes is lowered, a dimension writes itself in brackets, ⟦2*b + 1⟧,
wherever a number would stand. So no lowering rule knows that a size is symbolic. Two functions turn
the text into StableHLO:

- `TextForAllSizes.at_sizes` puts numbers in, which gives the static program for these sizes;
- `dynamic` makes a program that computes its sizes. In types, brackets become `?`. Variables come
  from the sizes of the arguments of `main`, are passed on to the functions that need them, and each
  function computes its expressions once, before anything else. Operations whose result has sizes
  that do not follow from the operands' get them as an operand, which needs another operation:
  `broadcast_in_dim` becomes `dynamic_broadcast_in_dim`, and so on. `REWRITES` lists them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from glassjax.dimensions import expressions
from glassjax.dimensions.parsing import Parser
from glassjax.dimensions.scopes import SymbolicScope
from glassjax.dimensions.solving import Check, Equation, solve
from glassjax.runtime.lowering import with_attributes
from glassjax.settings.config import set_in_context
from glassjax_stage2 import ShapedArray
from glassjax_stage3.lowering import Value, mlir_type, signature

_BRACKETS = re.compile(r"⟦([^⟦⟧]*)⟧")
_TYPE = re.compile(r"tensor<[^<>]*(?:<[^<>]*>)?[^<>]*>")

Parse = Callable[[str], Any]


class TextForAllSizes:
    """The text of a module, to put numbers into.

    Arguments:
        text: a module with sizes in brackets.
        scope: the scope of their variables.
    """

    def __init__(self, text: str, scope: SymbolicScope):
        self.text = text
        self._pieces = _BRACKETS.split(text)  # what is in brackets is every second
        parse = parser(scope)
        self._sizes = {written: parse(written) for written in {*self._pieces[1::2]}}

    def at_sizes(self, values: Mapping[str, int]) -> str:
        """The static module for some values of the variables."""
        numbers = {
            written: str(expressions.evaluate(size, values))
            for written, size in self._sizes.items()
        }
        pieces = self._pieces[:]
        pieces[1::2] = [numbers[written] for written in pieces[1::2]]
        return with_attributes("".join(pieces))


@lru_cache(maxsize=256)
def parser(scope: SymbolicScope) -> Parse:
    """The function from the text of a size to the size, in a scope."""
    return cache(lambda text: Parser(text, scope).size())


def dynamic_type(aval: ShapedArray) -> str:
    """The MLIR type of an array whose symbolic sizes the program computes."""
    return _BRACKETS.sub("?", _in_brackets(mlir_type, aval))


def dynamic_signature(in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray]) -> str:
    """The type of a function from and to arrays of such types."""
    operands = [Value("", aval) for aval in in_avals]
    return _BRACKETS.sub("?", _in_brackets(signature, operands, out_avals))


def _in_brackets(write: Callable[..., str], *args: Any) -> str:
    with set_in_context(expressions.in_brackets, True):
        return write(*args)


def dynamic(text: str, scope: SymbolicScope, argument_names: Sequence[str]) -> str:
    """The module that computes its sizes from its arguments.

    Arguments:
        text: a module with sizes in brackets.
        scope: the scope of their variables.
        argument_names: the names of the arguments of `main`, for messages.

    Raises:
        ValueError: the sizes of the arguments do not determine all variables.
        NotImplementedError: an operation needs a size that is a number.
    """
    module = _Module(text, scope, argument_names)
    lines: list[str] = []
    function: _Function | None = None
    for line in text.split("\n"):
        if line.startswith("  func.func "):
            function = _Function(module, line)
        elif function is None:
            lines.append(line)
        elif line.startswith("  }"):
            lines += [*function.text(), line]
            function = None
        else:
            function.add(line)
    end = len(lines) - 1 - lines[::-1].index("}")
    head = lines[0].removesuffix(" {")
    if "attributes" not in head:
        head += " attributes {}"
    head = head.replace("attributes {", "attributes {jax.uses_shape_polymorphism = true, ")
    head = head.replace(", }", "}") + " {"
    return with_attributes("\n".join([head, *lines[1:end], *module.reducers, *lines[end:]]))


class _Module:
    """State that the functions of a module share.

    Attributes:
        parse: from the text of a size to the size.
        needed: by function, the names of the variables that it, or a function that it calls, uses.
        reducers: functions made of regions, see `_dynamic_reduce_window`.
    """

    def __init__(self, text: str, scope: SymbolicScope, argument_names: Sequence[str]):
        self.parse = parser(scope)
        self.argument_names = argument_names
        self.reducers: list[str] = []
        called: dict[str, set[str]] = {}
        self.needed: dict[str, set[str]] = {}
        for body in text.split("\n  func.func ")[1:]:
            name = _NAME.search(body)[1]  # type: ignore[index]
            written = _BRACKETS.findall(body)
            self.needed[name] = {
                x for each in written for x in expressions.variables(self.parse(each))
            }
            called[name] = {*_CALL.findall(body)}
        grown = True
        while grown:
            grown = False
            for name, names in self.needed.items():
                more = {x for callee in called[name] for x in self.needed.get(callee, ())}
                grown |= not more <= names
                names |= more

    def parameters(self, function: str) -> list[str]:
        """The variables that a function takes, in order."""
        return [] if function == "main" else sorted(self.needed.get(function, ()))


_NAME = re.compile(r"@([\w.$-]+)")
_CALL = re.compile(r"\bcall @([\w.$-]+)")
_CALL_SITE = re.compile(
    r"\bcall @([\w.$-]+)\(([^()]*)\) : \(((?:[^()⟦]|⟦[^⟧]*⟧)*)\)"  # sizes may have parentheses
)
_HEAD = re.compile(
    r"(?P<begin>  func\.func (?:public |private )?@(?P<name>[\w.$-]+)\()"
    r"(?P<params>.*?)(?P<end>\) -> .*)"
)
_PARAMETER = re.compile(r"(%\w+): (tensor<(?:[^<>]|<[^<>]*>)*>)")
_LINE = re.compile(
    r"(?P<indent> *)(?P<binder>(?P<name>%[\w$.-]+)(?::\d+)? = )?"
    r'"?(?P<operation>[a-z]\w*(?:\.\w+)+)"?(?P<rest>.*?)(?P<location> loc\(.*\))?$'
)

SIZE = "tensor<i64>"


class Operation(NamedTuple):
    """An operation of one line.

    Attributes:
        binder: `%5 = `, or empty.
        name: `%5`.
        rest: what follows the operation's name, up to the types.
        ins, outs: the types of operands and results.
        line: the line.
    """

    indent: str
    binder: str
    name: str
    operation: str
    rest: str
    ins: list[str]
    outs: list[str]
    location: str
    line: str

    @property
    def operands(self) -> list[str]:
        """The names of the operands, which come first."""
        return re.findall(r"%[\w$.#-]+", self.rest)[: len(self.ins)]

    def written(self, text: str, ins: Sequence[str], outs: Sequence[str] = ()) -> str:
        """The line of another operation with the same results, of operands of these types."""
        results = ", ".join(outs or self.outs)
        results = results if len(outs or self.outs) == 1 else f"({results})"
        types = f"({', '.join(ins)}) -> {results}"
        return f"{self.indent}{self.binder}{text} : {types}{self.location}"

    def auxiliary(self, role: str) -> str:
        """The name of a value that only this operation uses."""
        return f"%{role}_{self.name[1:]}"

    def list_after(self, label: str) -> list[str]:
        """The items of a list in the attributes: `label[1, 2]`, `label<i64: 1, 2>`."""
        match = re.search(rf"{re.escape(label)}(?:\[|array<i64: )([^\]>]*)[\]>]", self.rest)
        return _items(match[1]) if match else []


def _items(text: str) -> list[str]:
    """The items of a list; brackets may hold commas."""
    return [item.strip() for item in re.split(r",(?![^⟦]*⟧)", text) if item.strip()]


def _operation(line: str) -> Operation | None:
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    rest, _, types = match["rest"].rpartition(" : ")
    ins, arrow, outs = types.partition(" -> ")
    found = _TYPE.findall(ins)
    return Operation(
        match["indent"],
        match["binder"] or "",
        match["name"] or "",
        match["operation"],
        rest,
        found if arrow else found[:1] * max(len(re.findall(r"%[\w$.#-]+", rest)), 1),
        _TYPE.findall(outs) if arrow else found,
        match["location"] or "",
        line,
    )


def _sizes_of(tensor: str) -> list[str]:
    """The sizes in a type, as texts.

    >>> _sizes_of("tensor<⟦b⟧x3xf32>")
    ['⟦b⟧', '3']
    """
    return re.findall(r"(⟦[^⟧]*⟧|\d+)x", tensor)


def _element(tensor: str) -> str:
    return re.sub(r"^(?:(?:⟦[^⟧]*⟧|\d+)x)*", "", tensor[len("tensor<") : -1])


class _Function:
    """Rewrites a function line by line, and collects the sizes that it computes at its beginning.

    Attributes:
        entry: the lines at the beginning.
        body: the other lines.
        values: the names of scalars, by size.
        vectors: the names of vectors, by their sizes and element type.
    """

    def __init__(self, module: _Module, head: str):
        self.module = module
        self.entry: list[str] = []
        self.body: list[str] = []
        self.values: dict[Any, str] = {}
        self.vectors: dict[Any, str] = {}
        self.emitted: dict[str, str] = {}  # the names of values, by operation
        self.window: list[str] = []  # the lines of a `reduce_window` until it ends
        match = _HEAD.match(head)
        assert match, head
        begin, params, end = match["begin"], match["params"], match["end"]
        self.name = match["name"]
        taken = {x: f"%dim_{n}" for n, x in enumerate(module.parameters(self.name))}
        self.variables = dict(taken)
        declared = [f"{name}: {SIZE}" for name in taken.values()]
        self.head = begin + ", ".join([*declared, *([params] if params else [])]) + end
        if self.name == "main" and module.needed["main"]:
            self.solve(params)

    def solve(self, params: str) -> None:
        """Compute the variables from the sizes of the arguments, and check them."""
        equations = []
        names = self.module.argument_names
        for number, (name, tensor) in enumerate(_PARAMETER.findall(params)):
            for axis, text in enumerate(_sizes_of(tensor)):
                if "⟦" in text:
                    size = self.module.parse(text[1:-1])
                    given = self.emit_size(
                        "stablehlo.get_dimension_size", f"{name}, dim = {axis}", tensor
                    )
                    equations.append(Equation(size, given, f"{names[number]}.shape[{axis}]"))
        solution = solve(equations, self.constant, self.operations())
        self.variables = solution.values
        for check in solution.checks:
            self.check(check)

    def emit_size(self, operation: str, operands: str, tensor: str) -> str:
        narrow = self.emit(f"{operation} {operands} : ({tensor}) -> tensor<i32>")
        return self.emit(f"stablehlo.convert {narrow} : (tensor<i32>) -> {SIZE}")

    def check(self, check: Check[str]) -> None:
        holds = self.emit(
            f"stablehlo.compare {check.relation}, {check.left}, {check.right}, SIGNED "
            f": ({SIZE}, {SIZE}) -> tensor<i1>"
        )
        # the pass that checks them reads numbers of 32 bits as well
        types = ", ".join(["tensor<i1>", *[SIZE] * len(check.shown)])
        message = check.message.replace("\\", "\\5C").replace('"', "\\22")
        self.entry.append(
            f"    stablehlo.custom_call @shape_assertion({', '.join([holds, *check.shown])}) "
            f'{{api_version = 2 : i32, error_message = "{message}", has_side_effect = true}} '
            f": ({types}) -> ()"
        )

    # Lines at the beginning.

    def emit(self, operation: str) -> str:
        """The name of the result of an operation, written once."""
        if operation not in self.emitted:
            name = self.emitted[operation] = f"%size_{len(self.emitted)}"
            self.entry.append(f"    {name} = {operation}")
        return self.emitted[operation]

    def operations(self) -> dict[str, Callable[[str, str], str]]:
        """The arithmetic of sizes, for `fold`."""

        def binary(operation: str) -> Callable[[str, str], str]:
            return lambda x, y: self.emit(f"stablehlo.{operation} {x}, {y} : {SIZE}")

        def mod(x: str, y: str) -> str:
            """The remainder with the sign of the divisor, as Python's."""
            rest = binary("remainder")(x, y)
            return binary("remainder")(binary("add")(rest, y), y)

        def floordiv(x: str, y: str) -> str:
            return binary("divide")(binary("subtract")(x, mod(x, y)), y)

        named = {"add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}
        return {
            **{name: binary(operation) for name, operation in named.items()},
            "mod": mod,
            "floordiv": floordiv,
        }

    def constant(self, value: int) -> str:
        return self.size(value)

    def size(self, size: Any) -> str:
        """The name of the scalar with the value of a size."""
        if size not in self.values:
            if isinstance(size, expressions.Dimension):
                name = expressions.fold(
                    size, self.variables.__getitem__, self.constant, self.operations()
                )
            else:
                name = self.emit(f"stablehlo.constant dense<{size}> : {SIZE}")
            self.values[size] = name
        return self.values[size]

    def parsed(self, text: str) -> Any:
        """The size from its text, a number or an expression in brackets."""
        return self.module.parse(text[1:-1]) if text.startswith("⟦") else int(text)

    def scalar(self, text: str, element: str = "i64") -> str:
        """The name of the scalar of a type with the value of a size."""
        size = self.parsed(text)
        if element == "i64":
            return self.size(size)
        if (size, element) not in self.vectors:
            types = f"({SIZE}) -> tensor<{element}>"
            self.vectors[size, element] = self.emit(
                f"stablehlo.convert {self.size(size)} : {types}"
            )
        return self.vectors[size, element]

    def vector(self, texts: Sequence[str], element: str = "i64") -> str:
        """The name of the vector of some sizes."""
        sizes = tuple(map(self.parsed, texts))
        if (sizes, element) not in self.vectors:
            self.vectors[sizes, element] = self._vector(texts, sizes, element)
        return self.vectors[sizes, element]

    def _vector(self, texts: Sequence[str], sizes: Sequence[Any], element: str) -> str:
        tensor = f"tensor<{len(sizes)}x{element}>"
        if not any(isinstance(size, expressions.Dimension) for size in sizes):
            values = list(sizes) if sizes else ""
            return self.emit(f"stablehlo.constant dense<{values}> : {tensor}")
        one = f"tensor<1x{element}>"
        parts = [
            self.emit(
                f"stablehlo.reshape {self.scalar(text, element)} : (tensor<{element}>) -> {one}"
            )
            for text in texts
        ]
        types = ", ".join([one] * len(parts))
        return self.emit(
            f"stablehlo.concatenate {', '.join(parts)}, dim = 0 : ({types}) -> {tensor}"
        )

    # Lines of the program.

    def add(self, line: str) -> None:
        """Add a line, rewritten if its operation needs sizes."""
        if self.window or ('"stablehlo.reduce_window"' in line and "⟦" in line):
            self.window.append(line)
            if line.startswith(_indent(self.window[0]) + "})"):
                self.body += _dynamic_reduce_window(self, self.window)
                self.window = []
            return
        line = _CALL_SITE.sub(self._with_sizes_passed, line)
        operation = _operation(line) if "⟦" in line else None
        rewrite = operation and REWRITES.get(operation.operation)
        if operation is None or rewrite is None:
            self.body.append(line)
        else:
            self.body += rewrite(self, operation)

    def _with_sizes_passed(self, site: re.Match[str]) -> str:
        """The head of a call, with the variables that the function takes before its operands."""
        name, operands, types = site.groups()
        taken = [self.variables[each] for each in self.module.parameters(name)]
        passed = ", ".join([*taken, *([operands] if operands else [])])
        declared = ", ".join([SIZE] * len(taken))
        return f"call @{name}({passed}) : ({declared}{', ' if taken and types else ''}{types})"

    def text(self) -> list[str]:
        """The lines of the function, except for the last one."""
        return [_without_brackets(line) for line in [self.head, *self.entry, *self.body]]


def _without_brackets(line: str) -> str:
    """A line whose types have `?` for sizes.

    Raises:
        NotImplementedError: it has sizes elsewhere.
    """
    if "⟦" not in line:
        return line
    line = _TYPE.sub(lambda match: _BRACKETS.sub("?", match[0]), line)
    if left := _BRACKETS.search(line):
        found = _operation(line)
        name = found.operation if found else line.strip()
        raise NotImplementedError(
            f"{name} needs a number where the size is {left[1]}, so this program cannot be "
            "exported for all sizes. Export it with a number there, or use jit(symbolic=...), "
            "which compiles for each size"
        )
    return line


# Operations that get the sizes of their results as operands.

Rewrite = Callable[[_Function, Operation], list[str]]


def _vector_type(sizes: Sequence[Any], element: str = "i64") -> str:
    return f"tensor<{len(sizes)}x{element}>"


def _constant(f: _Function, op: Operation) -> list[str]:
    """Numbers that are sizes, or an array of one number."""
    (tensor,) = op.outs
    value = op.rest.strip().removeprefix("dense<").removesuffix(">")
    element, sizes = _element(tensor), _sizes_of(tensor)
    if value.startswith("["):
        texts = _items(value[1:-1])
        return [_renamed(op, f.vector(texts, element), tensor)]
    lines, name = [], op.auxiliary("number")
    if "⟦" in value:
        name = f.scalar(value, element)
    else:
        scalar = f"stablehlo.constant dense<{value}> : tensor<{element}>"
        lines = [f"{op.indent}{name} = {scalar}{op.location}"]
    if not sizes:
        return [_renamed(op, name, tensor)]
    shape = f.vector(sizes)
    text = f"stablehlo.dynamic_broadcast_in_dim {name}, {shape}, dims = []"
    return [*lines, op.written(text, [f"tensor<{element}>", _vector_type(sizes)])]


def _renamed(op: Operation, name: str, tensor: str) -> str:
    return op.written(f"stablehlo.convert {name}", [tensor])


def _broadcast_in_dim(f: _Function, op: Operation) -> list[str]:
    sizes = _sizes_of(op.outs[0])
    x, dims = op.rest.strip().split(", ", 1)
    text = f"stablehlo.dynamic_broadcast_in_dim {x}, {f.vector(sizes)}, {dims}"
    return [op.written(text, [*op.ins[:1], _vector_type(sizes)])]


def _bitcast_convert(f: _Function, op: Operation) -> list[str]:
    """The bits of numbers in parts along a further, last axis; and numbers of these parts.

    jaxlib derives the sizes of a conversion only if it keeps the axes.
    """
    (x,), (y,) = op.ins, op.outs
    if _bits(x) == _bits(y):
        return [op.line]
    joins = _bits(x) < _bits(y)
    narrow, wide = (x, y) if joins else (y, x)
    sizes, rank = _sizes_of(narrow), len(_sizes_of(wide))
    whole, part = (f"ui{_bits(tensor)}" for tensor in (wide, narrow))
    wide, parts, narrow = (
        f"tensor<{'x'.join([*each, element])}>"
        for each, element in ((sizes[:-1], whole), (sizes, whole), (sizes, part))
    )
    lines = []

    def emit(role: str, text: str) -> str:
        lines.append(f"{op.indent}{op.auxiliary(role)} = stablehlo.{text}{op.location}")
        return op.auxiliary(role)

    def broadcast(role: str, of: str, tensor: str, dims: Sequence[int]) -> str:
        types = f"({tensor}, {_vector_type(sizes)}) -> {parts}"
        return emit(
            role,
            f"dynamic_broadcast_in_dim {of}, {f.vector(sizes)}, dims = {[*dims]} : {types}",
        )

    offsets = f.vector([str(n * _bits(narrow)) for n in range(int(sizes[-1]))], whole)
    shifts = broadcast("shifts", offsets, _vector_type(range(int(sizes[-1])), whole), [rank])
    (bits,) = op.operands
    if joins:
        bits = emit("bits", f"bitcast_convert {bits} : ({x}) -> {narrow}")
        bits = emit("widened", f"convert {bits} : ({narrow}) -> {parts}")
        bits = emit("shifted", f"shift_left {bits}, {shifts} : {parts}")
        zero = emit("zero", f"constant dense<0> : tensor<{whole}>")
        bits = emit(
            "joined",
            f"reduce({bits} init: {zero}) applies stablehlo.or across dimensions = [{rank}] : "
            f"({parts}, tensor<{whole}>) -> {wide}",
        )
    else:
        bits = emit("bits", f"bitcast_convert {bits} : ({x}) -> {wide}")
        bits = broadcast("copies", bits, wide, range(rank))
        bits = emit("shifted", f"shift_right_logical {bits}, {shifts} : {parts}")
        bits = emit("cut", f"convert {bits} : ({parts}) -> {narrow}")
    return [*lines, op.written(f"stablehlo.bitcast_convert {bits}", [wide if joins else narrow])]


def _bits(tensor: str) -> int:
    """The width of the elements of an array."""
    return int(re.sub(r"\D*(\d+).*", r"\1", _element(tensor)))


def _reshape(f: _Function, op: Operation) -> list[str]:
    sizes = _sizes_of(op.outs[0])
    if "⟦" not in op.outs[0]:
        return [op.line]
    text = f"stablehlo.dynamic_reshape {op.rest.strip()}, {f.vector(sizes)}"
    return [op.written(text, [*op.ins, _vector_type(sizes)])]


def _iota(f: _Function, op: Operation) -> list[str]:
    sizes = _sizes_of(op.outs[0])
    text = f"stablehlo.dynamic_iota {f.vector(sizes)}, {op.rest.strip()}"
    return [op.written(text, [_vector_type(sizes)])]


def _slice(f: _Function, op: Operation) -> list[str]:
    cuts = [cut.split(":") for cut in op.list_after(" ")]
    starts, limits, strides = ([(*cut, "1")[i] for cut in cuts] for i in range(3))
    if op.operation != "stablehlo.slice" or "⟦" not in op.rest:
        return [op.line]
    operands = [op.operands[0], *map(f.vector, (starts, limits, strides))]
    text = f"stablehlo.real_dynamic_slice {', '.join(operands)}"
    return [op.written(text, [*op.ins, *[_vector_type(cuts)] * 3])]


def _pad(f: _Function, op: Operation) -> list[str]:
    if "⟦" not in op.rest:
        return [op.line]
    configs = [op.list_after(f"{label} = ") for label in ("low", "high", "interior")]
    operands = [*op.operands, *map(f.vector, configs)]
    text = f"stablehlo.dynamic_pad {', '.join(operands)}"
    return [op.written(text, [*op.ins, *[_vector_type(configs[0])] * 3])]


def _dynamic_slice(f: _Function, op: Operation) -> list[str]:
    """A slice between limits; starts are moved so that it lies inside the array."""
    sizes = op.list_after("sizes = ")
    if "⟦" not in op.rest:
        return [op.line]
    x, *starts = op.operands
    number = op.ins[1]
    element = _element(number)
    vector, one = _vector_type(sizes, element), f"tensor<1x{element}>"
    lines = []

    def emit(role: str, text: str) -> str:
        lines.append(f"{op.indent}{op.auxiliary(role)} = stablehlo.{text}{op.location}")
        return op.auxiliary(role)

    parts = [
        emit(f"start{axis}", f"reshape {start} : ({number}) -> {one}")
        for axis, start in enumerate(starts)
    ]
    types = ", ".join([one] * len(parts))
    start = emit("start", f"concatenate {', '.join(parts)}, dim = 0 : ({types}) -> {vector}")
    part, whole = f.vector(sizes, element), f.vector(_sizes_of(op.ins[0]), element)
    largest = emit("largest", f"subtract {whole}, {part} : {vector}")
    zero = f.vector(["0"] * len(sizes), element)
    start = emit("inside", f"clamp {zero}, {start}, {largest} : {vector}")
    limit = emit("limit", f"add {start}, {part} : {vector}")
    ones = f.vector(["1"] * len(sizes), element)
    text = f"stablehlo.real_dynamic_slice {x}, {start}, {limit}, {ones}"
    return [*lines, op.written(text, [op.ins[0], *[vector] * 3])]


def _gather(f: _Function, op: Operation) -> list[str]:
    sizes = op.list_after("slice_sizes = ")
    if not any("⟦" in size for size in sizes):
        return [op.line]
    attributes = re.search(r"<\{(.*), slice_sizes = .*\}>", op.rest)
    operands = ", ".join([*op.operands, f.vector(sizes)])
    text = f'"stablehlo.dynamic_gather"({operands}) <{{{attributes[1]}}}>'  # type: ignore[index]
    return [op.written(text, [*op.ins, _vector_type(sizes)])]


def _convolution(f: _Function, op: Operation) -> list[str]:
    padding = re.search(r"pad = (\[.*?\]), lhs_dilate", op.rest)
    if padding is None or "⟦" not in padding[1]:
        return [op.line]
    pairs = _items(padding[1].replace("[", "").replace("]", ""))
    numbers = re.search(r"dim_numbers = (.*?), window", op.rest)
    groups = re.search(r"\{(batch_group_count.*)\}", op.rest)
    assert numbers
    assert groups
    arrays = {
        "window_strides": op.list_after("stride = "),
        "lhs_dilation": op.list_after("lhs_dilate = "),
        "rhs_dilation": op.list_after("rhs_dilate = "),
    }
    attributes = ", ".join(
        [
            groups[1],
            f"dimension_numbers = #stablehlo.conv<{numbers[1]}>",
            *[f"{name} = array<i64: {', '.join(items)}>" for name, items in arrays.items()],
        ]
    )
    table = f"tensor<{len(pairs) // 2}x2xi64>"
    amounts = f.emit(f"stablehlo.reshape {f.vector(pairs)} : ({_vector_type(pairs)}) -> {table}")
    text = f'"stablehlo.dynamic_conv"({", ".join([*op.operands, amounts])}) <{{{attributes}}}>'
    return [op.written(text, [*op.ins, table])]


def _custom_call(f: _Function, op: Operation) -> list[str]:
    """A call of a foreign function, whose last operands are the shapes of its results."""
    if not any("⟦" in tensor for tensor in op.outs):
        return [op.line]
    begin, attributes = op.rest.split("{", 1)
    shapes = [_sizes_of(tensor) for tensor in op.outs]
    numbers = list(range(len(op.ins), len(op.ins) + len(shapes)))
    operands = ", ".join([*op.operands, *map(f.vector, shapes)])
    layout = ", ".join(["dense<0> : tensor<1xindex>"] * len(shapes))
    attributes = re.sub(
        r"operand_layouts = \[(.*?)\](?=, \w+ =)",
        lambda match: f"operand_layouts = [{match[1]}{', ' if match[1] else ''}{layout}]",
        attributes,
    )
    target = begin.partition("(")[0].strip()
    text = (
        f"stablehlo.custom_call {target}({operands}) {{indices_of_shape_operands = "
        f"dense<{numbers}> : tensor<{len(numbers)}xi64>, {attributes}"
    )
    return [op.written(text, [*op.ins, *map(_vector_type, shapes)])]


def _rng_bit_generator(f: _Function, op: Operation) -> list[str]:
    sizes = _sizes_of(op.outs[1])
    algorithm = re.search(r"algorithm = +(\w+)", op.rest)
    assert algorithm
    text = (
        f"stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator({op.operands[0]}, "
        f"{f.vector(sizes)}) {{api_version = 2 : i32, "
        f"rng_algorithm = #stablehlo<rng_algorithm {algorithm[1]}>}}"
    )
    return [op.written(text, [*op.ins, _vector_type(sizes)])]


def _top_k(f: _Function, op: Operation) -> list[str]:
    (k,) = re.findall(r"k = (⟦[^⟧]*⟧|\d+)", op.rest)
    if "⟦" not in k:
        return [op.line]
    text = (
        f"stablehlo.custom_call @stablehlo.dynamic_top_k({op.operands[0]}, {f.scalar(k, 'i32')}) "
        "{api_version = 2 : i32}"
    )
    return [op.written(text, [op.ins[0], "tensor<i32>"])]


def _dynamic_reduce_window(f: _Function, lines: Sequence[str]) -> list[str]:
    """A reduction over windows; its computation becomes a function of the module."""
    head, block, *computation, end = lines
    op = _operation(head.removesuffix("({").rstrip() + end.strip().removeprefix("})"))
    assert op is not None
    name = f"window_{len(f.module.reducers)}"
    params = block.strip().removeprefix("^bb0(").removesuffix("):")
    returned = computation[-1].strip().removeprefix("stablehlo.return ")
    results = returned.partition(" : ")[2]
    f.module.reducers.append(
        "\n".join(
            [
                f"  func.func private @{name}({params}) -> ({results}) {{",
                *computation[:-1],
                f"    return {returned}",
                "  }",
            ]
        )
    )
    labels = "window_dimensions", "window_strides", "base_dilations", "window_dilations"
    arrays = [op.list_after(f"{label} = ") for label in labels]
    pairs = re.search(r"padding = dense<(.*?)> : tensor", op.rest)
    assert pairs
    table = f"tensor<{len(arrays[0])}x2xi64>"
    texts = _items(pairs[1].replace("[", "").replace("]", ""))
    padding = f.emit(f"stablehlo.reshape {f.vector(texts)} : ({_vector_type(texts)}) -> {table}")
    operands = ", ".join([*op.operands, *map(f.vector, arrays), padding])
    text = (
        f"stablehlo.custom_call @stablehlo.dynamic_reduce_window({operands}) "
        f"{{api_version = 2 : i32, called_computations = [@{name}]}}"
    )
    return [op.written(text, [*op.ins, *map(_vector_type, arrays), table])]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


REWRITES: dict[str, Rewrite] = {
    "stablehlo.bitcast_convert": _bitcast_convert,
    "stablehlo.broadcast_in_dim": _broadcast_in_dim,
    "stablehlo.constant": _constant,
    "stablehlo.convolution": _convolution,
    "stablehlo.custom_call": _custom_call,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.gather": _gather,
    "stablehlo.iota": _iota,
    "stablehlo.pad": _pad,
    "stablehlo.reshape": _reshape,
    "stablehlo.rng_bit_generator": _rng_bit_generator,
    "stablehlo.slice": _slice,
    "chlo.top_k": _top_k,
}
