"""Jaxprs as graphs, in the language of Graphviz's `dot`."""

from typing import TYPE_CHECKING, Any

from glassjax_stage3.printing import Printer

if TYPE_CHECKING:
    from glassjax_stage3.jaxpr import Atom, JaxprEqn, Var


def to_dot(jaxpr: Any) -> str:
    """The graph of a program: equations are boxes, and edges bear the types of values.

    A program within an equation is not drawn; draw it by itself.

    >>> from glassjax_stage3 import make_jaxpr
    >>> print(to_dot(make_jaxpr(lambda x: -x)(2.0)))
    digraph jaxpr {
      node [shape=box style=rounded];
      in0 [shape=ellipse label="a:f64[]"];
      eqn0 [label="neg"];
      in0 -> eqn0 [label="a:f64[]"];
      out0 [shape=ellipse label="out"];
      eqn0 -> out0 [label="b:f64[]"];
    }
    """
    printer = Printer()
    printer.jaxpr_lines(jaxpr)  # assigns the same names as in the printed program
    lines = ["digraph jaxpr {", "  node [shape=box style=rounded];"]
    origins: dict[Atom, tuple[str, Var]] = {}
    for role, variables in (("const", jaxpr.constvars), ("in", jaxpr.invars)):
        for number, var in enumerate(variables):
            origins[var] = f"{role}{number}", var
            label = f"{printer.names[var]}:{var.aval}"
            lines.append(f"  {role}{number} [shape=ellipse label={dot_string(label)}];")

    def edge(atom: "Atom", to: str) -> None:
        if atom in origins:  # otherwise it is a literal
            origin, var = origins[atom]
            label = dot_string(f"{printer.names[var]}:{var.aval}")
            lines.append(f"  {origin} -> {to} [label={label}];")

    for number, eqn in enumerate(jaxpr.eqns):
        here = f"eqn{number}"
        lines.append(f"  {here} [label={dot_string(label_of(eqn))}];")
        for atom in eqn.invars:
            edge(atom, here)
        origins.update((var, (here, var)) for var in eqn.outvars)
    for number, atom in enumerate(jaxpr.outvars):
        label = str(atom.val) if hasattr(atom, "val") else "out"
        lines.append(f"  out{number} [shape=ellipse label={dot_string(label)}];")
        edge(atom, f"out{number}")
    return "\n".join([*lines, "}"])


def label_of(eqn: "JaxprEqn") -> str:
    """The primitive with its parameters and literals, each on a line."""
    params = [f"{name}={value}" for name, value in eqn.params.items() if not hasattr(value, "eqns")]
    literals = [
        f"operand {position} is {atom.val}"
        for position, atom in enumerate(eqn.invars)
        if hasattr(atom, "val")
    ]
    return "\n".join([str(eqn.primitive), *(_cut(line) for line in (*params, *literals))])


def _cut(line: str, length: int = 40) -> str:
    line = " ".join(line.split())
    return line if len(line) <= length else line[: length - 3] + "..."


def dot_string(text: str) -> str:
    """A string of the language: quotes and backslashes escaped, lines kept."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
