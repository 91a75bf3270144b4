"""The errors that a user of an interpreter can meet."""


class UnexpectedTracerError(TypeError):
    """A value was used where its interpreter is not running.

    It was made inside a transformed function and carried out of it (a global, an attribute, a
    list that outlives the call), or handed to another thread. Return it from the function
    instead.
    """
