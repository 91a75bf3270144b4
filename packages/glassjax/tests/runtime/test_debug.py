"""A breakpoint at the terminal."""

import os
import subprocess
import sys
import textwrap

import pytest


def test_a_breakpoint_asks_on_the_terminal():
    pty = pytest.importorskip("pty", reason="terminals are files here")
    program = """
        import glassjax

        def f(x):
            y = x * 2
            glassjax.debug.breakpoint()
            return y

        print("result", glassjax.jit(f)(3.0))
    """
    ours, theirs = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], **streams)
    os.close(theirs)
    os.write(ours, b"p y + 1\nc\n")
    shown = b""
    while part := _read(ours):
        shown += part
    os.close(ours)
    assert process.wait(timeout=300) == 0, shown
    assert b"(glassjax) " in shown
    assert b"Array(7." in shown
    assert b"result 6.0" in shown


def _read(terminal):
    """What was written; nothing once the other end is closed, which some systems call an error."""
    try:
        return os.read(terminal, 1024)
    except OSError:
        return b""
