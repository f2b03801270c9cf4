"""Tables that do not fit in memory: read in batches, as often as wanted, by the engine that has them."""
