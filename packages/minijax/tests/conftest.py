"""What all of these tests share: they compile what they test, and leave the user's cache alone."""

import os

os.environ["MINIJAX_ENABLE_COMPILATION_CACHE"] = "false"  # for the processes they start, too
os.environ["MINIJAX_ENABLE_X64"] = "true"  # the laws are tried to many digits
