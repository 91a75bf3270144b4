"""`--changed`: run the test modules that reach what has changed since they last passed.

While a test module runs, the functions of this repository that it calls are noted, and the files
that it reads, in pytest's cache, with a copy of these as they were. It is selected if its own text
has changed, one of those functions or files, or what a file with such a function does when it is
imported. Programs started by tests are not followed.
"""

import functools
import hashlib
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[2]
TOOL = 4  # sys.monitoring tells tools apart by numbers; by convention this is nobody's
IS_FUNCTION = 0x01  # a flag of code with local variables: neither of a module nor of a class


@functools.cache
def place_of(file: str) -> str | None:
    """A file's path in the repository; None if it is not one of its sources."""
    place = file.removeprefix(f"{ROOT}/")
    is_hidden = place.startswith(".") or "__pycache__" in place or not Path(ROOT, place).is_file()
    return None if place == file or is_hidden else place


def code_objects(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from code_objects(each)


def digest_of(code: CodeType) -> str:
    """What a function does, apart from the functions in it; neither comments nor lines count."""
    constants = [
        sorted(map(repr, each)) if isinstance(each, frozenset) else each
        for each in code.co_consts
        if not isinstance(each, CodeType)
    ]
    return repr((code.co_qualname, code.co_code, constants, code.co_names, code.co_varnames))


class Source:
    """The functions of a Python file, and what its import executes."""

    def __init__(self, content: bytes) -> None:
        found = list(code_objects(compile(content, "source", "exec", dont_inherit=True)))
        self.functions = {
            (each.co_qualname, each.co_firstlineno): digest_of(each)
            for each in found
            if each.co_flags & IS_FUNCTION
        }
        self.body = [digest_of(each) for each in found if not each.co_flags & IS_FUNCTION]


def differs(old: bytes, new: bytes, place: str, called: set[tuple[str, int]]) -> bool:
    """Return True if the functions `called` of a file, or what its import executes, changed.

    Where none is called, the file is read.
    """
    name = place.rpartition("/")[2]
    if not called or name.startswith(("test_", "conftest")):
        return True
    try:
        before, after = Source(old), Source(new)
    except SyntaxError:
        return True
    kept = set(after.functions.values())
    return before.body != after.body or any(
        digest not in kept for each, digest in before.functions.items() if each in called
    )


class Reached:
    """The notes on all test modules, in a directory; several processes add to them."""

    def __init__(self, directory: Path, process: str, is_partial: bool) -> None:
        self.directory, self.process, self.is_partial = directory, process, is_partial
        self.copies = directory / "copies"
        self.copies.mkdir(exist_ok=True)
        self.module: str | None = None
        self.failed = False
        self.called: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.digest = functools.cache(self._digest)

    # While tests run

    def enter(self, module: str | None) -> None:
        """Note for this module what is called from now on; None: the tests are over."""
        if module == self.module:
            return
        if self.module is None:
            self._start()
        else:
            self._write(self.module)
        self.called.clear()
        self.module, self.failed = module, False
        if module is None:
            sys.monitoring.set_events(TOOL, 0)
            sys.monitoring.free_tool_id(TOOL)
        else:
            sys.monitoring.restart_events()

    def _start(self) -> None:
        monitoring = sys.monitoring
        monitoring.use_tool_id(TOOL, "reached")
        monitoring.register_callback(TOOL, monitoring.events.PY_START, self._on_call)
        monitoring.set_events(TOOL, monitoring.events.PY_START)
        sys.addaudithook(self._on_event)

    def _on_call(self, code: CodeType, offset: int) -> Any:
        place = place_of(code.co_filename)
        if place is not None and code.co_flags & IS_FUNCTION:
            self.called[place].add((code.co_qualname, code.co_firstlineno))
        return sys.monitoring.DISABLE  # until the next module begins

    def _on_event(self, event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or self.module is None:
            return
        if isinstance(args[0], str):
            place = place_of(args[0])
            if place is not None:
                self.called.setdefault(place, set())

    def _digest(self, place: str) -> str:
        """The digest of a file, of which a copy is kept under this name."""
        content = (ROOT / place).read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:24]
        if not (self.copies / digest).exists():
            (self.copies / digest).write_bytes(content)
        return digest

    def _notes_on(self, module: str) -> list[dict[str, Any]]:
        files = self.directory.glob(f"{module.replace('/', '+')}-*.json")
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]

    def _write(self, module: str) -> None:
        """Add what was reached; a part of a module's tests tells nothing of one never run whole."""
        file = self.directory / f"{module.replace('/', '+')}-{self.process}.json"
        if self.is_partial and not file.exists():
            return
        called = list(self.called.items())  # reading the files below adds to it
        reached = {place: [self.digest(place), *each] for place, each in called}
        failed = self.failed
        if file.exists():
            old = json.loads(file.read_text(encoding="utf-8"))
            failed |= self.is_partial and old["failed"]
            for place, (digest, *before) in old["reached"].items():
                noted = reached.setdefault(place, [digest])
                if noted[0] == digest:
                    noted += [each for each in map(tuple, before) if each not in set(noted)]
        file.write_text(json.dumps({"failed": failed, "reached": reached}), encoding="utf-8")

    # Afterwards

    def unaffected(self) -> list[str]:
        """The modules that need not be run again."""
        names = {file.name.rpartition("-")[0] for file in self.directory.glob("*.json")}
        modules = [name.replace("+", "/") for name in sorted(names)]
        return [module for module in modules if not self._is_affected(module)]

    def _is_affected(self, module: str) -> bool:
        return any(
            notes["failed"] or any(self._has_changed(*item) for item in notes["reached"].items())
            for notes in self._notes_on(module)
        )

    def _has_changed(self, place: str, noted: list[Any]) -> bool:
        digest, *called = noted
        if not (ROOT / place).is_file():
            return True
        if self.digest(place) == digest:
            return False
        old = (self.copies / digest).read_bytes()
        return differs(old, (ROOT / place).read_bytes(), place, set(map(tuple, called)))
