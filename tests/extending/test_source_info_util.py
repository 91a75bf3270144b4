"""Name stacks of equations and of compiled programs, beside JAX."""

import jax
import jax.debug
import jax.errors
import jax.export
import jax.extend
import jax.ffi
import jax.interpreters.batching
import jax.interpreters.mlir
import numpy as np

import glassjax
import glassjax.ad_checkpoint
import glassjax.debug
import glassjax.export
import glassjax.extend
import glassjax.extend.core
import glassjax.interpreters.batching
import glassjax.interpreters.mlir

X = np.float32(3)


# Stacks of names.
def of_stacks(j):
    module = j.extend.source_info_util
    stack = module.new_name_stack("a")
    yield str(stack)
    yield str(module.new_name_stack()), len(module.new_name_stack())
    yield str(stack.extend("b").transform("jvp"))
    yield str(stack.transform("jvp").extend("c").extend("d"))
    yield str(stack.transform("jvp").transform("vmap").extend("c"))
    yield len(stack), str((stack + stack.extend("c"))[1:])
    yield str(module.current_name_stack())
    with j.named_scope("x"), module.extend_name_stack("y") as inside:
        yield str(inside), str(module.current_name_stack())
        with module.reset_name_stack():
            yield str(module.current_name_stack())
        with module.set_name_stack(stack):
            yield str(module.current_name_stack())
        with module.transform_name_stack("vmap") as transformed:
            yield str(transformed), str(module.current_name_stack())
            with j.named_scope("z"):
                yield str(module.current_name_stack())
        found = []

        def f(x):
            found.append(str(module.current_name_stack()))
            with j.named_scope("in"):
                found.append(str(module.current_name_stack()))
            return x

        j.jit(f)(1.0)
        yield found
    yield str(module.current_name_stack())
    yield stack == module.new_name_stack("a"), hash(stack) == hash(module.new_name_stack("a"))


def test_stacks_of_names_agree():
    assert [*of_stacks(glassjax)] == [*of_stacks(jax)]


def test_equations_say_the_names_of_the_parts_they_are_in():
    def names(j):
        def f(x):
            with j.named_scope("outer"):
                x = x * 2
                with j.named_scope("inner"):
                    return j.lax.sin(x)

        closed = j.make_jaxpr(lambda x: f(x) + 1)(1.0)
        return [(e.primitive.name, str(e.source_info.name_stack)) for e in closed.jaxpr.eqns]

    assert names(glassjax) == names(jax)


def test_names_are_in_compiled_programs():
    module = glassjax.extend.source_info_util

    def f(x):
        with module.transform_name_stack("mine"), glassjax.named_scope("part"):
            return glassjax.numpy.sin(x)

    assert "mine(part)/sin" in glassjax.jit(f).lower(X).compile().as_text()
