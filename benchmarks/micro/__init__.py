"""The parts of the product in this process: the core looped in C, and the engine's Python face."""
