"""Mathematical functions of each element."""
