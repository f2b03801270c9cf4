"""The C++ core: one source file per stage, and ``kernels``, its typed and checked Python face."""
