"""Floor 2: where bytes and deadlines live - arena, timing wheel, checksums, cipher. Knows no key and no value."""
