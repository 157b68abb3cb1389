"""Floor 9: the drivers that own sockets, threads and time. They know no command."""
