"""Public names as Markdown: each with its signature and docstring.

The functions of the full library are objects that compile what they are called with, so they are
asked what they are as the site is built, not read from the source.
"""

import contextlib
import enum
import importlib
import inspect
import itertools
import operator
import re
import textwrap
import types
from collections.abc import Iterator, Sequence
from typing import Any

WIDTH = 80
SECTION = r"^(Arguments|Attributes|Returns|Raises|Warns):\n((?:(?: .*)?\n?)*)"
REFERENCE = r"^    (\S[^:\n]*): as (?:`(\w+)` )?in `([\w.]+)`\.\n"


def listing(module: str, names: Sequence[str], level: int) -> Iterator[str]:
    """The names of a module, each under a heading of this level, and a table of them."""
    namespace = importlib.import_module(module)
    documented = [name for name in names if is_documented(getattr(namespace, name))]
    yield "\n| | |\n|---|---|\n" if documented else ""
    for name in documented:
        says = summary(getattr(namespace, name)).replace("|", "\\|")
        yield f"| [`{name}`](#{module}.{name}) | {says} |\n"
    yield "\n"
    first: dict[int, str] = {}
    for name in documented:
        value = getattr(namespace, name)
        yield f"{'#' * level} {name} {{ #{module}.{name} }}\n\n"
        yield f"```python\n{signature(shown_name(module, name), value)}\n```\n\n"
        if id(value) in first:
            other = first[id(value)]
            yield f"Another name of [`{other}`](#{module}.{other}).\n\n"
            continue
        first[id(value)] = name
        yield f"{markdown(docstring(value))}\n"
        if isinstance(value, type):
            yield from members(value)
    if others := [name for name in names if name not in documented]:
        yield "\nAnd:\n\n"
        for name in others:
            yield f"- `{name}`{what_it_is(getattr(namespace, name))}\n"


def about(module: str) -> str:
    """The docstring of a module."""
    return markdown(inspect.getdoc(importlib.import_module(module)) or "")


def is_documented(value: Any) -> bool:
    """Return True for what the packages define, and not for what they pass on from others."""
    if isinstance(value, types.GenericAlias) or not callable(value) or not value.__doc__:
        return False
    return getattr(value, "__module__", type(value).__module__).startswith("glassjax")


def shown_name(module: str, name: str) -> str:
    """The name as users write it."""
    module = re.sub(r"^glassjax\.numpy\b", "jnp", module)
    module = re.sub(r"^(glassjax_stage\d|glassjax\.(?=\w+$))", "", module).strip(".")
    return f"{module}.{name}" if module else name


def what_it_is(value: Any) -> str:
    if isinstance(value, bool | int | float | str):
        return f": {value!r}"
    home = getattr(value, "__module__", None) or type(value).__module__
    owner = home.partition(".")[0]
    return f": {owner}'s" if owner not in ("glassjax", "builtins", "types") else ""


def summary(value: Any) -> str:
    """The first sentence of a docstring."""
    first = (inspect.getdoc(value) or "").partition("\n\n")[0]
    return " ".join(first.split())


def members(cls: type) -> Iterator[str]:
    """The public methods and properties of a class."""
    found = [
        (name, value)
        for name, value in inspect.getmembers(cls)
        if name[0] != "_" and is_member(value) and inspect.getdoc(value)
    ]
    if found:
        yield "\n| member | |\n|---|---|\n"
        for name, value in found:
            says = summary(value).replace("|", "\\|")
            yield f"| `{name}` | {says} |\n"
        yield "\n"


def is_member(value: Any) -> bool:
    if not (callable(value) or isinstance(value, property)):
        return False
    home = getattr(value.fget if isinstance(value, property) else value, "__module__", None)
    return bool(home) and home.startswith("glassjax")


def signature(name: str, value: Any) -> str:
    """The parameters without annotations: on one line, or each on its own."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return name
    bare = inspect.Signature([p.replace(annotation=p.empty, default=p.empty) for p in parameters])
    defaults = {p.name: shown_default(p.default) for p in parameters if p.default is not p.empty}
    parts = [part for part in re.split(r", ", str(bare)[1:-1]) if part]
    parts = [f"{part}={defaults[part]}" if part in defaults else part for part in parts]
    line = f"{name}({', '.join(parts)})"
    if len(line) <= WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def shown_default(default: Any) -> str:
    if isinstance(default, enum.Enum):
        return f"{type(default).__name__}.{default.name}"
    named = isinstance(default, type) or inspect.isroutine(default)
    text = default.__name__ if named else repr(default)
    return "..." if re.search(r" at 0x|^<", text) or len(text) > 40 else text


def markdown(text: str) -> str:
    """A docstring as Markdown: its sections, the entries of these, and its examples."""
    parts = re.split(SECTION, text, flags=re.M)
    text = examples(parts[0])
    for title, body, rest in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        text += f"\n\n**{title}**\n\n"
        text += prose(body) if title == "Returns" else entries(body)
        text += "\n\n" + examples(rest)
    return text + "\n"


def entries(body: str) -> str:
    """The entries of a section as a list."""
    return "\n".join(f"- `{name}`: {says}" for name, says in entries_of(body))


def entries_of(body: str) -> list[tuple[str, str]]:
    """The entries `name: what it is` of a section, each a line and those indented below it."""
    found = re.findall(
        r"^(\S[^:\n]*): ((?:.*\n?)(?:(?: .*)?\n)*)", textwrap.dedent(body) + "\n", re.M
    )
    return [(name, " ".join(says.split())) for name, says in found]


def docstring(value: Any) -> str:
    """The docstring of a value, in which an entry "as in `other`" is replaced by that of `other`.

    There, it may have another name: "as `x` in `other`".
    """

    def with_entries(section: re.Match[str]) -> str:
        def entries_there(found: re.Match[str]) -> str:
            names, as_name, other = found.groups()
            there = documented(named(other, value.__module__), section[1])
            groups = itertools.groupby(names.split(", "), key=lambda name: there[as_name or name])
            return "".join(f"    {', '.join(group)}: {says}\n" for says, group in groups)

        return re.sub(REFERENCE, entries_there, section[0], flags=re.M)

    return re.sub(SECTION, with_entries, f"{inspect.getdoc(value) or ''}\n", flags=re.M)


def documented(value: Any, title: str) -> dict[str, str]:
    """What the section "Arguments" or "Raises" of a docstring says about each name."""
    sections = re.findall(SECTION, docstring(value), re.M)
    entries = [entry for found, body in sections if found == title for entry in entries_of(body)]
    return {name: says for names, says in entries for name in names.split(", ")}


def named(name: str, module: str) -> Any:
    """The value of a dotted name in a module's docstring: from there, its facade, or glassjax."""
    facade = module.rpartition(".")[0]
    places = ["glassjax"] if name.startswith("glassjax.") else [module, facade, "glassjax"]
    for home in places:
        with contextlib.suppress(AttributeError):
            return operator.attrgetter(name.removeprefix("glassjax."))(
                importlib.import_module(home)
            )
    raise AttributeError(f"a docstring of {module} refers to {name}")


def prose(body: str) -> str:
    return textwrap.dedent(body).strip()


def examples(text: str) -> str:
    """The text with its examples as code."""
    return re.sub(
        r"((?:^>>> .*\n?)(?:^\S.*\n?|^ +.*\n?)*)", r"```pycon\n\1\n```\n", text, flags=re.M
    )
