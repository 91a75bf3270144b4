"""Jaxprs as text, in JAX's notation: `{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }`."""

import string
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from glassjax_stage3.jaxpr import Atom, Jaxpr, JaxprEqn, Var

LINE_WIDTH = 80


def all_names() -> Iterator[str]:
    """a, b, ..., z, ba, bb, ...: as JAX does, numbers in base 26 whose digit 0 is a."""
    yield from string.ascii_lowercase
    for leading in all_names():
        if leading != "a":
            yield from (leading + letter for letter in string.ascii_lowercase)


class Printer:
    """Writes jaxprs as lines of text.

    A subclass may mark words if its `fits` ignores the marks.
    """

    def __init__(self) -> None:
        self.names: dict[Var, str] = defaultdict(all_names().__next__)

    def word(self, text: str, kind: str) -> str:
        """A word of the notation; `kind` is "keyword", "primitive", "type" or "literal"."""
        return text

    def variable(self, var: "Var", eqn: "JaxprEqn | None", is_bound: bool) -> str:
        """The name of a variable, where it is bound (by `eqn` or as an argument) or used."""
        return self.names[var]

    def jaxpr_lines(self, jaxpr: "Jaxpr") -> list[str]:
        consts = " ".join(map(self._bound, jaxpr.constvars))
        args = " ".join(map(self._bound, jaxpr.invars))
        blocks = [self.eqn_lines(eqn) for eqn in jaxpr.eqns]
        outs = ", ".join(map(self._atom, jaxpr.outvars)) + "," * (len(jaxpr.outvars) == 1)
        head = f"{{ {self.word('lambda', 'keyword')} {consts}; {args}. "
        head += self.word("let", "keyword")
        tail = f"{self.word('in', 'keyword')} ({outs}) }}"
        line = f"{head} {'; '.join(block[0] for block in blocks)} {tail}"
        if self.fits(line, blocks):
            return [line]
        body = [f"    {line}" for block in blocks for line in block]
        return [head, *body, f"  {tail}"]

    def eqn_lines(self, eqn: "JaxprEqn") -> list[str]:
        operands = "".join(f" {self._atom(atom)}" for atom in eqn.invars)
        outs = " ".join(self._bound(var, eqn) for var in eqn.outvars)
        params = [self._param_lines(key, value) for key, value in eqn.params.items()]
        primitive = self.word(str(eqn.primitive), "primitive")
        head = f"{outs} = {primitive}" if outs else primitive
        if not params:
            return [head + operands]
        line = f"{head}[{' '.join(lines[0] for lines in params)}]{operands}"
        if self.fits(line, params):
            return [line]
        body = [f"  {line}" for lines in params for line in lines]
        return [f"{head}[", *body, f"]{operands}"]

    def fits(self, line: str, blocks: Sequence[Sequence[str]]) -> bool:
        """Return True if one line is enough, and each block is one line."""
        return len(line) <= LINE_WIDTH and all(len(block) == 1 for block in blocks)

    def _param_lines(self, key: str, value: Any) -> list[str]:
        if hasattr(value, "eqns"):
            first, *rest = self.jaxpr_lines(value)
            return [f"{key}={first}", *rest]
        if isinstance(value, tuple) and any(hasattr(x, "eqns") for x in value):
            inner = [f"  {line}" for x in value for line in self.jaxpr_lines(x)]
            return [f"{key}=(", *inner, ")"]
        return [f"{key}={value}"]

    def _bound(self, var: "Var", eqn: "JaxprEqn | None" = None) -> str:
        return f"{self.variable(var, eqn, True)}:{self._type(var)}"

    def _atom(self, atom: "Atom") -> str:
        if hasattr(atom, "val"):
            return f"{self.word(str(atom.val), 'literal')}:{self._type(atom)}"
        return self.variable(atom, None, False)

    def _type(self, atom: "Atom") -> str:
        return self.word(str(atom.aval), "type")
