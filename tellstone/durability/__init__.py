"""What keeps a store on disk: its directory, its log and snapshots, and the tools that look after them."""
