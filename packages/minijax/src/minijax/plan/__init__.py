"""Planning: what a program would take on devices that are not there."""
