"""The table of JAX's public names that are here."""

import importlib

from minijax.as_jax.absent import AbsentName, public_names


def missing_names(module: str) -> list[str]:
    """The public names of a module of JAX that are not here."""
    names = public_names()[module]
    try:
        here = importlib.import_module(f"mini{module}")
    except ModuleNotFoundError:
        return names
    return [name for name in names if getattr(getattr(here, name, AbsentName), "is_absent", False)]


def coverage() -> None:
    """Print JAX's public modules, with how many of their names are here and which are not.

    The names are those of JAX 0.12, without what is for TPUs, for TensorFlow and for writing
    kernels.

    >>> minijax.coverage()  # doctest: +ELLIPSIS
    module ... there ... of ... missing
    jax ...
    """
    rows = []
    for module, names in public_names().items():
        if names:
            missing = missing_names(module)
            rows.append((module, len(names) - len(missing), len(names), " ".join(missing)))
    there, count = sum(row[1] for row in rows), sum(row[2] for row in rows)
    rows.append(("in all", there, count, f"{there / count:.1%} are there"))
    width = max(len(row[0]) for row in rows)
    print(f"{'module':{width}}  there    of  missing")
    for row in rows:
        print(f"{row[0]:{width}}  {row[1]:5} {row[2]:5}  {row[3]}".rstrip())
