"""The primitive of `while_loop`.

Its operands are the constants of the condition, the constants of the body, the carry. Both programs
take their constants first.
"""

from minijax_stage2 import Primitive

while_p = Primitive("while", higher_order=True)
