"""Floor 1: portable leaves - atomics, locks, views, rings, output buffers, the layout stamp; mostly headers."""
