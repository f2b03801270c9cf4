"""The C++ core, a folder a stage, and its typed and checked Python face, from ``kernels`` to ``searches``."""
