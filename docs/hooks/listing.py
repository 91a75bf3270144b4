"""Writes the public names of a module as Markdown, each with its signature and docstring.

The functions of the full library are objects that compile what they are called with, so they are
asked what they are as the site is built, not read from the source.
"""

import importlib
import inspect
import re
import textwrap


def show(module: str, level: int = 2) -> None:
    """Prints what a module is for, and its names in the order of the alphabet."""
    namespace = importlib.import_module(module)
    print(f"{'#' * level} {module}\n\n{inspect.getdoc(namespace)}\n")
    others = []
    for name in sorted(namespace.__all__, key=str.lower):
        value = getattr(namespace, name)
        if callable(value) and value.__doc__:
            print(f"{'#' * (level + 1)} {name} {{ #{module}.{name} }}\n")
            print(f"```python\n{name}{signature(value)}\n```\n")
            print(markdown(inspect.getdoc(value)))
        elif not inspect.ismodule(value):
            others.append(name)
    if others:
        print(f"And {', '.join(f'`{name}`' for name in others)}.")


def signature(value: object) -> str:
    """The parameters, without annotations."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    bare = inspect.Signature([p.replace(annotation=p.empty) for p in parameters])
    return re.sub(r" at 0x\w+", "", str(bare))


def markdown(docstring: str) -> str:
    """A docstring as Markdown: its sections, the entries of these, and its examples."""
    parts = re.split(r"^(Arguments|Returns|Raises):\n((?:(?: .*)?\n?)*)", docstring, flags=re.M)
    text = examples(parts[0])
    for title, body, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        text += f"\n\n**{title}**\n\n"
        text += prose(body) if title == "Returns" else entries(body)
        text += "\n\n" + examples(rest)
    return text + "\n"


def entries(body: str) -> str:
    """`name: what it is`, a line and those indented below it, as a list."""
    found = re.findall(
        r"^(\S[^:\n]*): ((?:.*\n?)(?:(?: .*)?\n)*)", textwrap.dedent(body) + "\n", re.M
    )
    return "\n".join(f"- `{name}`: {' '.join(says.split())}" for name, says in found)


def prose(body: str) -> str:
    return textwrap.dedent(body).strip()


def examples(text: str) -> str:
    """The text with its examples as code."""
    return re.sub(
        r"((?:^>>> .*\n?)(?:^\S.*\n?|^ +.*\n?)*)", r"```python\n\1\n```\n", text, flags=re.M
    )
