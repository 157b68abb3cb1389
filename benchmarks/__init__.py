"""What the product costs: its parts in this process (`micro`), and as a server beside others (`compare`, `scaling`)."""
