"""Floor 4: one module a data type, pure operations on an entry's value. Returns status and views, writes no replies."""
