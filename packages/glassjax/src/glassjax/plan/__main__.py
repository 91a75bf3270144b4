"""The command line of `plan`: `python -m glassjax.plan EXAMPLE --mesh data=64,model=8`."""

import argparse
import ast
from collections.abc import Sequence
from typing import Any

from glassjax import xla
from glassjax.plan import plan
from glassjax.settings.names import function_named
from glassjax.shardings.mesh import AbstractMesh, AxisType, use_abstract_mesh

FUNCTION = "step_and_arguments"

DESCRIPTION = f"""\
Compile a function for a mesh of devices, which need not be there, and print what one run of it
takes on each of them: memory, floating-point operations, collectives.

EXAMPLE is a Python file or the name of a module, with a function

    {FUNCTION}(mesh, **options)

that returns a function, jitted or not, and the tuple of its arguments. Types stand for arrays:
glassjax.ShapeDtypeStruct(shape, dtype, sharding=P(...)). The mesh, an AbstractMesh, is in context.
EXAMPLE:NAME is for a function of another name.
"""


def _mesh(text: str) -> AbstractMesh:
    """The mesh for a text such as `data=64,model=8`, with axes of type `Auto`."""
    sizes = {}
    for part in text.split(","):
        name, _, size = part.partition("=")
        if not name.isidentifier() or not size.isdecimal() or int(size) < 1 or name in sizes:
            raise argparse.ArgumentTypeError(
                f"expected axes with their sizes, as in data=64,model=8, found {text!r}"
            )
        sizes[name] = int(size)
    return AbstractMesh(tuple(sizes.values()), tuple(sizes), (AxisType.Auto,) * len(sizes))


def _option(text: str) -> tuple[str, Any]:
    """A keyword argument from a text such as `size=70`; non-literals are strings."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, found {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m glassjax.plan",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("example", metavar="EXAMPLE", help="a file or a module")
    add("options", metavar="NAME=VALUE", type=_option, nargs="*", help="options of EXAMPLE")
    add("--mesh", type=_mesh, required=True, help="axes and their sizes: data=64,model=8")
    add("--topology", choices=xla.GPUS, help="the GPUs to compile for; by default a CPU")
    add("--json", action="store_true", help="print JSON in place of a table")
    given = parser.parse_intermixed_args(arguments)
    try:
        function = function_named(given.example, FUNCTION)
    except ValueError as error:
        parser.error(str(error))
    with use_abstract_mesh(given.mesh):
        made = function(given.mesh, **dict(given.options))
        if not isinstance(made, tuple) or len(made) != 2 or not isinstance(made[1], tuple | list):
            parser.error(
                f"{given.example} must return a pair of a function and the tuple of its arguments"
            )
        step, step_arguments = made
        found = plan(step, *step_arguments, mesh=given.mesh, topology=given.topology)
    if given.json:
        print(found.to_json())
        return
    try:
        from rich import print as print_in_colors
    except ModuleNotFoundError:
        print(found)
    else:
        print_in_colors(found)


if __name__ == "__main__":
    main()
