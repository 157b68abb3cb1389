"""Floor 7: the command table, its gates, and one module of handlers a family."""
