"""`tellstone bench`: a load on a server, and what it measures. The load itself is in tellstone._core.load."""
