"""Declaration of primitives, and the jaxprs of higher-order primitives."""
