"""Floor 6: incremental parsers and reply writers for RESP and the native protocol. Knows no command and no store."""
