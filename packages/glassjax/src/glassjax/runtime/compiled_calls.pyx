# cython: language_level=3, boundscheck=False, wraparound=False
"""Calls of jitted functions, from the arguments to the results, without a step in Python.

A call is recognised by its *key*: the structure of its arguments, the types of the Arrays in it,
and the values of what is static. Types are interned, so a key is compared by identity for the most
part. The first call of a key goes the way that is written in Python, and says which program it has
run; those that follow take the program from a table.

glassjax works without this module, and does the same. It knows nothing of glassjax: `configure` is
told what it needs.
"""

from cpython.contextvars cimport PyContextVar_Get
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF, Py_XINCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, PyTuple_New, PyTuple_SET_ITEM

import types

import numpy

cimport cython


cdef extern from "Python.h":
    ctypedef struct PyMemberDef:
        Py_ssize_t offset
    ctypedef struct PyMemberDescrObject:
        PyMemberDef* d_member
    ctypedef PyObject* (*ternaryfunc)(PyObject*, PyObject*, PyObject*)
    ctypedef PyObject* (*vectorcallfunc)(PyObject*, PyObject**, size_t, PyObject*)
    ctypedef struct PyTypeObject:
        ternaryfunc tp_call
        Py_ssize_t tp_vectorcall_offset
        unsigned long tp_flags
    unsigned long Py_TPFLAGS_HAVE_VECTORCALL
    Py_ssize_t PyVectorcall_NARGS(size_t)
    PyObject* PyVectorcall_Call(PyObject*, PyObject*, PyObject*)
    object PyObject_Vectorcall(object, PyObject**, size_t, PyObject*)
    ctypedef struct PyTracebackObject:
        PyObject* tb_next
    void PyErr_Fetch(PyObject**, PyObject**, PyObject**)
    void PyErr_Restore(PyObject*, PyObject*, PyObject*)
    ctypedef struct PyWrapperDescrObject:
        void* d_wrapped
    object PyType_GenericAlloc(PyTypeObject* cls, Py_ssize_t count)


# What `configure` is told.
cdef object array_type
cdef Py_ssize_t at_buffer, at_aval, at_call_key, at_deleted  # where an Array has them
cdef object interpreter, types_in_force, settings_in_force  # context variables
cdef object outside, switch, put
cdef dict registry
cdef object leaf_types_for

cdef int DEEPEST = 64
cdef int MOST = 4096
cdef unsigned int LAUNCHES = 64  # after which garbage is collected
cdef object consume = None  # the method of launches that reads results, once there is one
cdef dict numbers_on_device = {}  # from the type of a number and the number to its buffer
cdef dict types_of_numbers = {}  # by the number types in force and the class, of numpy's numbers
cdef dict rules = {}  # what `leaf_types_for` has, for the number types that have been in force
cdef object numpys_number = numpy.number


def configure(
    array, current_interpreter, number_types, settings, types_outside, switches, nodes, leaf_types,
    to_buffer,
):
    """Tell this module about the library that it serves.

    Arguments:
        array: the class of arrays, with slots `buffer`, `aval` and `call_key`; instead of the
            buffer, one that is deleted has why, in a slot `_deleted`.
        current_interpreter: the context variable of the interpreter; None: values are computed.
        number_types: the context variable of the number types of the running code.
        settings: the context variable whose value has the library's own, `numbers`.
        types_outside: the number types where no function of the library runs.
        switches: has an attribute `used`, true where calls have more to look at.
        nodes: from the class of a node of trees to an object that has its `flatten`.
        leaf_types: from number types and the class of a leaf to the function that finds its type.
        to_buffer: puts a leaf of a type on the device.
    """
    global array_type, at_buffer, at_aval, at_call_key, at_deleted
    global interpreter, types_in_force, settings_in_force
    global outside, switch, registry, leaf_types_for, put
    array_type = array
    at_buffer, at_aval = offset_of(array, "buffer"), offset_of(array, "aval")
    at_call_key, at_deleted = offset_of(array, "call_key"), offset_of(array, "_deleted")
    interpreter, types_in_force, settings_in_force = current_interpreter, number_types, settings
    outside, switch, registry = types_outside, switches, nodes
    leaf_types_for, put = leaf_types, to_buffer


cdef Py_ssize_t offset_of(cls, name) except -1:
    for base in cls.__mro__:
        member = base.__dict__.get(name)
        if type(member) is types.MemberDescriptorType:
            return (<PyMemberDescrObject*><PyObject*>member).d_member.offset
    raise TypeError(f"{cls.__name__} has no slot {name!r}")


cdef inline PyObject** slot(object x, Py_ssize_t offset) noexcept:
    return <PyObject**>(<char*><PyObject*>x + offset)


cdef inline object buffer_of(object array):
    cdef PyObject* buffer = slot(array, at_buffer)[0]
    return array.buffer if buffer == NULL else <object>buffer  # which raises: it was deleted


cdef inline object new_array(object buffer, object aval, object call_key):
    array = PyType_GenericAlloc(<PyTypeObject*><PyObject*>array_type, 0)
    Py_INCREF(buffer)
    slot(array, at_buffer)[0] = <PyObject*>buffer
    Py_INCREF(aval)
    slot(array, at_aval)[0] = <PyObject*>aval
    Py_INCREF(call_key)
    slot(array, at_call_key)[0] = <PyObject*>call_key
    return array


@cython.final
cdef class Program:
    """A compiled program, called with the list of its arguments' buffers.

    Arguments:
        launch: runs it.
        handlers: what the results are read with.
        avals: the types of the results.
        call_keys: the part of each result in the keys of calls.
        unflatten: puts the results into their structure; None: there is one, and it has none.
        consts: the buffers of its first arguments.
        failure: given the buffers and a RuntimeError, the error to raise.
        collect_garbage: frees what launches leave behind.
    """

    cdef object launch, unflatten, failure, collect_garbage
    cdef list handlers, avals, call_keys, consts
    cdef unsigned int launches

    def __init__(
        self, launch, handlers, avals, call_keys, unflatten, consts, failure, collect_garbage,
    ):
        self.launch, self.unflatten, self.failure = launch, unflatten, failure
        self.collect_garbage, self.launches = collect_garbage, 0
        self.handlers, self.consts = list(handlers), list(consts)
        self.avals, self.call_keys = list(avals), list(call_keys)

    def __call__(self, list buffers):
        return self.run(buffers)

    cdef object run(self, list buffers):
        global consume
        cdef list results
        cdef Py_ssize_t i
        if self.consts:
            buffers = self.consts + buffers
        try:
            launched = self.launch(buffers)
            if consume is None:
                consume = type(launched).consume_with_handlers
            results = consume(launched, self.handlers)
        except RuntimeError as error:
            raise self.failure(buffers, error) from error
        self.launches += 1
        if self.launches % LAUNCHES == 0:
            self.collect_garbage()
        if self.unflatten is None:
            return new_array(results[0], self.avals[0], self.call_keys[0])
        for i in range(len(results)):
            results[i] = new_array(results[i], self.avals[i], self.call_keys[i])
        return self.unflatten(results)


@cython.final
cdef class Donation:
    """A program that takes over the memory of some of its arguments, which must all be Arrays.

    Arguments:
        program: what is run.
        donated: the numbers of the arguments that are deleted.
        reason: returns why, at the call.
    """

    cdef Program program
    cdef list donated
    cdef object reason

    def __init__(self, program, donated, reason):
        self.program, self.donated, self.reason = program, list(donated), reason

    cdef object run(self, list leaves):
        """The result; OTHER: one is no Array, or is there twice, for which Python has words."""
        cdef list buffers = []
        cdef set different = set()
        for buffer in self.program.consts:
            different.add(<size_t><PyObject*>buffer)
        for leaf in leaves:
            if type(leaf) is not array_type:
                return OTHER
            buffer = buffer_of(leaf)
            buffers.append(buffer)
            different.add(<size_t><PyObject*>buffer)
        if len(different) < len(buffers) + len(self.program.consts):
            return OTHER
        result = self.program.run(buffers)
        reason = self.reason()
        for number in self.donated:
            if buffers[number].is_deleted():  # else something views its memory, and XLA copied
                delete(leaves[number], reason)
        return result


cdef inline void delete(object array, object reason) noexcept:
    """Put the reason in the place of the buffer, unless it is deleted already."""
    cdef PyObject* buffer = slot(array, at_buffer)[0]
    if buffer != NULL:
        Py_INCREF(reason)
        slot(array, at_deleted)[0] = <PyObject*>reason
        slot(array, at_buffer)[0] = NULL
        Py_XDECREF(buffer)


@cython.final
cdef class Known:
    """What is known of the calls of one key: the program, and its arguments' order if another."""

    cdef tuple key
    cdef object execute
    cdef tuple order


cdef object NEW = object()  # a call of a key that was not there before
cdef object OTHER = object()  # a call that Python makes


@cython.final
cdef class KnownCalls:
    """The programs of the calls of one function, for whatever arguments it has had.

    Arguments:
        static: its `argnums` and `argnames` say which arguments are no arrays, but parts of the
            key. They are read at the first call.
    """

    cdef dict known
    cdef Known last  # the call before, which the next one is likely to equal
    cdef bint donates
    cdef object static
    cdef frozenset static_argnums, static_argnames
    cdef unsigned long long first_static  # a bit for each of the first 64 positions

    def __init__(self, static):
        self.known, self.static = {}, static
        self.clear()

    cdef void read_static(self) except *:
        numbers, names = frozenset(self.static.argnums), frozenset(self.static.argnames)
        self.static_argnames, self.first_static = names, 0
        for position in numbers:
            if 0 <= position < 64:
                self.first_static |= 1ULL << <int>position
        self.static_argnums = numbers  # last: it tells other threads that all is there

    cdef inline bint is_static(self, Py_ssize_t position) except -1:
        if position < 64:
            return self.first_static >> position & 1
        return position in self.static_argnums

    cpdef clear(self):
        """Forget all programs."""
        cdef Known nothing = Known()
        nothing.key = ()
        self.last = nothing
        self.known.clear()

    cdef object call(self, PyObject** args, Py_ssize_t count, tuple names):
        """The result of a call; NEW or OTHER: Python has to make it."""
        cdef Call call
        cdef Known known
        cdef list buffers
        if switch.used or not is_evaluating():
            return OTHER
        if self.static_argnums is None:
            self.read_static()
        call = self.collected(args, count, names, self.donates)
        if call is None:
            return OTHER
        known = call.last
        if not call.is_like_last():
            try:
                known = self.known.get(call.whole_key())
            except TypeError:  # a static value or the data of a node has no hash
                return OTHER
            if known is None:
                return NEW
            self.last = known
        if known.execute is None:
            return OTHER
        if type(known.execute) is Donation:
            if call.leaves is None:  # another thread has just seen the first one
                return OTHER
            if known.order is None:
                return (<Donation>known.execute).run(call.leaves)
            return (<Donation>known.execute).run([call.leaves[i] for i in known.order])
        buffers = call.buffers_on_device()
        if known.order is not None:
            buffers = [buffers[i] for i in known.order]
        if type(known.execute) is Program:
            return (<Program>known.execute).run(buffers)
        return known.execute(buffers)

    cdef void remember(self, Call call, execute, list wanted, tuple order) except *:
        """Keep the program of a call that was made.

        Arguments:
            call: the call, with its leaves.
            execute: runs the program; given what it wants, in that order, as a list.
            wanted: its arguments' buffers, or the arguments themselves if it takes their memory.
            order: for each of these, the number of the leaf in the arguments.
        """
        cdef Known known = Known()
        cdef list given = call.leaves
        if type(execute) is Donation:
            self.donates = True
        elif call.lost_leaves():
            return
        else:
            given = call.buffers_on_device()
        # Where programs run elsewhere, what they take are the leaves themselves.
        if len(wanted) == len(order) == len(given) and all([
            type(x) is type(given[i])
            and (x is given[i] or type(call.leaves[i]) is not array_type)
            for i, x in zip(order, wanted)
        ]):
            known.execute = execute
            known.order = None if order == tuple(range(len(order))) else order
        if len(self.known) >= MOST:
            self.clear()
        known.key = call.whole_key()
        self.known[known.key] = known

    cdef Call collected(self, PyObject** args, Py_ssize_t count, tuple names, bint with_leaves):
        """The key and the arguments of a call; None: it is none for the table.

        Arguments:
            args: the positional arguments, and after them the keyword arguments.
            count: the number of the former.
            names: the names of the latter; None: there are none.
            with_leaves: whether the leaves themselves are wanted.
        """
        cdef Call call = Call.__new__(Call)
        cdef Py_ssize_t position
        call.last = self.last
        call.numbers = types_here()
        call.buffers = []
        if with_leaves:
            call.leaves = []
        call.put(call.numbers)
        for position in range(count):
            if self.is_static(position):
                if not call.add_static(<object>args[position], 0):
                    return None
            elif not call.add(<object>args[position], 0):
                return None
        if names is None:
            return call
        for name in names:
            call.put(name)
            if name in self.static_argnames:
                if not call.add_static(<object>args[count], 0):
                    return None
            elif not call.add(<object>args[count], 0):
                return None
            count += 1
        return call


cdef class Called:
    """The base of jitted functions.

    A subclass has `_call_by_python`, which makes any call; `_program_of(args, kwargs)`, what
    `remember` wants to know of one that was made, even if it deleted its arguments; and
    `_improve_error(args, kwargs, error)`, for an error that is about to be raised.

    Attributes:
        _known: the calls that need not go through Python; None: all do.
    """

    cdef public KnownCalls _known
    cdef vectorcallfunc vectorcall

    def __cinit__(self, *args, **kwargs):
        self._known = None
        self.vectorcall = <vectorcallfunc><void*>call_without_line  # C has a const there

    def __call__(self, *args, **kwargs):
        """Never run: below, `call_without_line` takes its place in the type."""


cdef object call_with_line(Called self, PyObject** args, Py_ssize_t count, tuple names):
    """The result of a call, whose arguments are as those of `KnownCalls.collected`."""
    cdef KnownCalls known = self._known
    cdef Call call
    result = OTHER
    if known is not None:
        try:
            result = known.call(args, count, names)
        except Exception as error:
            self._improve_error(positional(args, count), by_name(args + count, names), error)
            raise
        if result is not OTHER and result is not NEW:
            return result
    given_names = NULL if names is None else <PyObject*>names
    if result is OTHER:
        return PyObject_Vectorcall(self._call_by_python, args, count, given_names)
    call = known.collected(args, count, names, True)  # now, as it may delete its arguments
    result = PyObject_Vectorcall(self._call_by_python, args, count, given_names)
    if call is None or types_here() is not call.numbers or switch.used:
        return result  # the function may change settings
    execute, wanted, order = self._program_of(positional(args, count), by_name(args + count, names))
    known.remember(call, execute, wanted, order)
    return result


cdef tuple positional(PyObject** args, Py_ssize_t count):
    cdef Py_ssize_t position
    return tuple([<object>args[position] for position in range(count)])


cdef dict by_name(PyObject** args, tuple names):
    cdef Py_ssize_t position
    if names is None:
        return {}
    return {names[position]: <object>args[position] for position in range(len(names))}


# Cython adds a line of this file to the traceback of an exception. Users see their own lines.

cdef PyObject* call_without_line(
    PyObject* self, PyObject** args, size_t count, PyObject* names
) noexcept:
    cdef vectorcallfunc call = <vectorcallfunc><void*>call_with_line
    cdef PyObject* result = call(
        self, args, PyVectorcall_NARGS(count), <PyObject*>None if names == NULL else names
    )
    cdef PyObject* cls
    cdef PyObject* error
    cdef PyObject* traceback
    cdef PyObject* rest
    if result == NULL:
        PyErr_Fetch(&cls, &error, &traceback)
        rest = NULL
        if traceback != NULL:
            rest = <PyObject*>(<PyTracebackObject*>traceback).tb_next
            Py_XINCREF(rest)
            Py_XDECREF(traceback)
        PyErr_Restore(cls, error, rest)
    return result


cdef void call_by_vector(Called example):
    """Let calls of `Called` and its subclasses be vector calls, without a tuple and a dict."""
    cdef PyTypeObject* cls = <PyTypeObject*><PyObject*>Called
    method = Called.__dict__["__call__"]  # from which subclasses have it
    (<PyWrapperDescrObject*><PyObject*>method).d_wrapped = <void*>PyVectorcall_Call
    cls.tp_vectorcall_offset = <char*>&example.vectorcall - <char*><PyObject*>example
    cls.tp_call = PyVectorcall_Call
    cls.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL


call_by_vector(Called())


@cython.final
@cython.freelist(8)
@cython.no_gc  # it lives as long as a call
cdef class Call:
    """The key of a call, and its arguments.

    As long as its parts are those of the last call's key, it is only compared.
    """

    cdef Known last
    cdef Py_ssize_t matched  # so many parts are those of the last key
    cdef list key  # None: no other part has come yet
    cdef list buffers  # of the Arrays; of others, the leaf
    cdef list leaves  # None: they are not wanted
    cdef list others  # the positions and types of leaves that are no Arrays; None: there are none
    cdef object numbers

    cdef inline bint put(self, object part) except -1:
        """Add a part to the key; always true."""
        cdef PyObject* expected
        if self.key is None:
            if self.matched < PyTuple_GET_SIZE(self.last.key):
                expected = <PyObject*>PyTuple_GET_ITEM(self.last.key, self.matched)
                if expected == <PyObject*>part or (
                    type(part) is int and type(<object>expected) is int and part == <object>expected
                ):
                    self.matched += 1
                    return True
            self.key = list(self.last.key[: self.matched])
        self.key.append(part)
        return True

    cdef bint is_like_last(self):
        return self.key is None and self.matched == PyTuple_GET_SIZE(self.last.key)

    cdef tuple whole_key(self):
        return self.last.key[: self.matched] if self.key is None else tuple(self.key)

    cdef list buffers_on_device(self):
        """The buffers, where those that are none yet have been put on the device."""
        cdef Py_ssize_t position
        if self.others is not None:
            for position, aval in self.others:
                self.buffers[position] = on_device(self.buffers[position], aval)
            self.others = None
        return self.buffers

    cdef bint lost_leaves(self) except -1:
        """Whether a leaf is deleted by now."""
        for leaf in self.leaves:
            if type(leaf) is array_type and slot(leaf, at_buffer)[0] == NULL:
                return True
        return False

    cdef bint add_static(self, object x, int depth) except -1:
        """Add a static value, of which equal ones are told apart by their classes."""
        cdef object cls = type(x)
        if isinstance(x, tuple):
            if depth > DEEPEST:
                return False
            self.put(len(<tuple>x))
            for item in <tuple>x:
                if not self.add_static(item, depth + 1):
                    return False
            if cls is tuple:
                return self.put(cls)
        elif isinstance(x, frozenset) or cls is float and x == 0:  # which need more than that
            return False
        self.put(cls)
        return self.put(x)

    cdef bint add(self, object x, int depth) except -1:
        """Add a tree; False: it has something in it of which this module knows nothing."""
        cdef PyObject* buffer
        cdef object cls = type(x)
        if cls is array_type:
            buffer = slot(x, at_buffer)[0]
            if buffer == NULL:  # it was deleted, which Python says better
                return False
            return self.add_leaf(x, <object>buffer, <object>slot(x, at_call_key)[0])
        if depth > DEEPEST:
            return False
        if cls is dict:
            self.put(cls)
            self.put(len(<dict>x))
            for name, item in (<dict>x).items():
                self.put(name)
                if not self.add(item, depth + 1):
                    return False
            return True
        if cls is tuple:
            return self.add_items(cls, <tuple>x, depth)
        if cls is list:
            return self.add_items(cls, tuple(<list>x), depth)
        if x is None:
            return self.put(cls)
        if cls in rules_of(self.numbers):
            aval = type_of(x, self.numbers)
            if aval is None:
                return False
            if self.others is None:
                self.others = []
            self.others.append((len(self.buffers), aval))
            return self.add_leaf(x, x, aval)
        node = registry.get(cls)
        if node is not None:
            children, data = node.flatten(x)
            self.put(data)
            return self.add_items(cls, tuple(children), depth)
        if isinstance(x, tuple) and hasattr(cls, "_fields"):
            return self.add_items(cls, tuple(x), depth)
        return False

    cdef inline bint add_leaf(self, object x, object buffer, object part) except -1:
        self.buffers.append(buffer)
        if self.leaves is not None:
            self.leaves.append(x)
        return self.put(part)

    cdef bint add_items(self, object cls, tuple items, int depth) except -1:
        self.put(cls)
        self.put(len(items))
        for item in items:
            if not self.add(item, depth + 1):
                return False
        return True


cdef dict rules_of(object numbers):
    """The functions that find the types of leaves, by class."""
    cdef dict found = rules.get(numbers)
    if found is None:
        found = rules[numbers] = leaf_types_for[numbers]
    return found


cdef object type_of(object x, object numbers):
    """The type of a number or a numpy array; None: it has none, for which Python has words."""
    cdef bint is_fixed = issubclass(type(x), numpys_number)  # the class says all: a number of numpy
    if is_fixed:
        aval = types_of_numbers.get((numbers, type(x)))
        if aval is not None:
            return aval
    try:
        aval = rules_of(numbers)[type(x)](x)
    except (TypeError, ValueError, OverflowError):
        return None
    if is_fixed:
        types_of_numbers[numbers, type(x)] = aval
    return aval


cdef object on_device(object x, object aval):
    """A number or a numpy array on the device, where numbers are kept for the next time."""
    if type(x) is int or type(x) is float and x != 0:  # zeros are equal, whatever their sign
        key = aval, x
    elif isinstance(x, numpys_number):
        key = aval, type(x), x.tobytes()
    else:
        return put(x, aval)
    found = numbers_on_device.get(key)
    if found is None:
        found = put(x, aval)
        if len(numbers_on_device) >= MOST:
            numbers_on_device.clear()
        numbers_on_device[key] = found
    return found


cdef bint is_evaluating() except -1:
    cdef PyObject* found = NULL
    PyContextVar_Get(interpreter, NULL, &found)
    is_none = found == NULL or <object>found is None
    Py_XDECREF(found)
    return is_none


cdef object types_here():
    cdef PyObject* found = NULL
    PyContextVar_Get(types_in_force, NULL, &found)
    numbers = <object>found
    Py_XDECREF(found)
    if numbers is not outside:
        return numbers
    PyContextVar_Get(settings_in_force, NULL, &found)
    settings = <object>found
    Py_XDECREF(found)
    return settings.numbers
