"""A write-ahead log without a keyspace, for tests, benchmarks and tools: only Python uses it."""
