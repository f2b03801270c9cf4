"""Tables that do not fit in memory, read in batches by their engine, as many times as needed."""
