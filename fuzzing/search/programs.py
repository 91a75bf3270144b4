"""Programs: a few calls, one using the results of another, under transformations; as sources."""

import inspect
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzzing.search import transformations
from fuzzing.search.arguments import Arguments, Array, Input
from fuzzing.search.choices import Choices
from fuzzing.search.recipes import RECIPES

# Given the source of a program and whether it has 64 bits: the results of its function, each by
# an expression of the name `y` of all of them; None if it has none.
TypesOf = Callable[["Program"], list[Array] | None]


# Modules of programs that neither library imports of its own accord.
MODULES = [
    "ad_checkpoint", "custom_batching", "example_libraries.optimizers", "example_libraries.stax",
    "export", "flatten_util", "image", "scipy.fft", "scipy.integrate", "scipy.linalg",
    "scipy.ndimage", "scipy.optimize", "scipy.signal", "scipy.sparse.linalg", "scipy.special",
    "scipy.stats",
]  # fmt: skip


@dataclass(frozen=True)
class Program:
    """Definitions, calls of `functions`, and the names of transformations, the innermost first."""

    inputs: tuple[Input, ...]
    calls: tuple[str, ...]
    functions: tuple[str, ...]
    transformations: tuple[str, ...] = ()
    x64: bool = False

    @property
    def source(self) -> str:
        """A function of a library, called `jax` in it, that gives a function and its arguments."""
        parameters = ", ".join(each.name for each in self.inputs if each.is_parameter)
        lines = [f"{each.name} = {each.source}" for each in self.inputs]
        lines += ["", f"def f({parameters}):"]
        *others, last = self.calls
        lines += [f"    y{i} = {call}" for i, call in enumerate(others)]
        lines += [f"    return {last}", ""]
        lines += [f"return f, ({parameters}{',' if parameters else ''})"]
        return "def program(jax, jnp, lax):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"

    @property
    def standalone(self) -> str:
        """A Python program that computes it with both libraries."""
        used = [getattr(transformations, name) for name in self.transformations]
        texts = [inspect.getsource(f) for f in used]
        needed = [
            inspect.getsource(f)
            for i, f in enumerate(transformations.SHARED)
            if any(
                re.search(rf"\b{f.__name__}\(", text)
                for text in texts + [inspect.getsource(g) for g in transformations.SHARED[i + 1 :]]
            )
        ]
        needed = needed if texts else []
        helpers = "\n\n".join(map(_without_annotations, needed + texts))
        imports = "".join(
            f"import jax.{name}\nimport glassjax.{name}\n"
            for name in MODULES
            if f"jax.{name}." in self.source
        )
        steps = [f"f, args = {name}(library, f, args)" for name in self.transformations]
        apply = "".join(f"        {step}\n" for step in steps)
        return (
            f"import jax\nimport glassjax\nimport numpy as np\n{imports}"
            "from numpy import inf, nan\n\n\n"
            + (helpers + "\n\n" if helpers else "")
            + self.source
            + "\n\nfor library in (glassjax, jax):\n"
            + f"    with library.enable_x64({self.x64}):\n"
            + "        f, args = program(library, library.numpy, library.lax)\n"
            + apply
            + "        try:\n            print(f(*args))\n"
            + "        except Exception as error:\n            print(repr(error))\n"
        )

    def __str__(self) -> str:
        under = " of ".join(reversed(self.transformations)) or "eager"
        return f"{', '.join(self.functions)} ({under}{', 64 bits' if self.x64 else ''})"


def _without_annotations(source: str) -> str:
    source = re.sub(r" -> [^\n]*:\n", ":\n", source)
    return re.sub(r": (Any|Function|Arguments|int)\b", "", source)


def drawn(choices: Choices, names: Sequence[str], types_of: TypesOf) -> Program:
    """A program of the named functions. Shrinks to fewer calls and transformations."""
    arguments = Arguments(choices, x64=choices.below(6) == 5)
    transformation_count = choices.one_of((0, 1, 1, 2))
    under = [
        choices.one_of(list(transformations.TRANSFORMATIONS)) for _ in range(transformation_count)
    ]
    if any(name in transformations.LAST for name in under[:-1]):
        under = under[:1]
    calls: list[str] = []
    functions: list[str] = []
    for i in range(choices.one_of((1, 1, 1, 2, 2, 3))):
        if i:
            before = Program(
                tuple(arguments.inputs), tuple(calls), tuple(functions), x64=arguments.x64
            )
            results = types_of(before)
            if not results:
                break
            y = f"y{i - 1}"
            arguments.results += [
                Array(result.source.replace("y", y, 1), result.shape, result.dtype)
                for result in results[:3]
            ]
            arguments.must_use_a_result = True
        name = choices.one_of(names)
        functions.append(name)
        calls.append(RECIPES[name](arguments, name))
    return Program(
        tuple(arguments.inputs), tuple(calls), tuple(functions), tuple(under), arguments.x64
    )
