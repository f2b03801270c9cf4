#include <nanobind/nanobind.h>

void bind_apply(nanobind::module_ &) {}
