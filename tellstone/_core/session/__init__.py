"""Floor 8: one connection without its socket - bytes in, bytes out, and the reasons to wait."""
