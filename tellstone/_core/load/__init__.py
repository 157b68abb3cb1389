"""The load generator, above base and protocol: what to ask, replies told apart and timed, threads for connections."""
