"""Tests of many small cases: one item for all of them, which shows those that fail."""

import functools
import inspect

import pytest


def for_each(names, rows):
    """Calls a test with each row, as `pytest.mark.parametrize` does, but as one item.

    All rows are tried. Fixtures are made once for all of them.
    """
    names = [names] if isinstance(names, str) else list(names)
    given = [dict(zip(names, [row] if len(names) == 1 else row, strict=True)) for row in rows]
    assert given

    def decorate(test):
        @functools.wraps(test)
        def of_all(*args, **fixtures):
            errors, skipped = [], []
            for row in given:
                try:
                    test(*args, **fixtures, **row)
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception, BaseExceptionGroup) as error:
                    error.add_note(", ".join(f"{name}: {shown(row[name])}" for name in names))
                    errors.append(error)
            if errors:
                raise BaseExceptionGroup(f"{len(errors)} of {len(given)} rows fail", errors)
            if len(skipped) == len(given):
                raise skipped[0]

        signature = inspect.signature(test)
        kept = [p for name, p in signature.parameters.items() if name not in names]
        of_all.__signature__ = signature.replace(parameters=kept)  # where fixtures are looked up
        return of_all

    return decorate


def shown(value):
    code = getattr(value, "__code__", None)
    line = f" at line {code.co_firstlineno}" if code else ""
    return f"{getattr(value, '__name__', None) or repr(value)}"[:200] + line
