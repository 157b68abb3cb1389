"""Floor 3: entries, tables, shards, the keyspace and their change hook. Knows no data type's operations."""
