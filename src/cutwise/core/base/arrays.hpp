// Arrays at the boundary with Python: arguments have a declared dtype and are contiguous, and results are owned by NumPy.
#pragma once

#include "base/simd.hpp"

namespace cutwise {

namespace nb = nanobind;
using nb::literals::operator""_a;  // the name of an argument

template <class T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using In3 = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out3 = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

inline void require(bool holds, const char *what) {
  if (!holds) throw std::invalid_argument(what);
}

// Takes the GIL. Up to Python 3.13, a daemon thread that asks for it while the interpreter ends has its stack unwound,
// which ends the process where it meets a destructor; such a thread waits for that end instead, as from 3.14 on.
template <class Take>
auto take_gil(Take &&take) noexcept {
  try {
    return take();
  } catch (...) {
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

// Its scope runs without the GIL.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  ~GilRelease() {
    take_gil([&] { PyEval_RestoreThread(state_); });
  }
  GilRelease(const GilRelease &) = delete;
  GilRelease &operator=(const GilRelease &) = delete;

 private:
  PyThreadState *state_;
};

// Its scope, within one without the GIL, has it.
class GilAcquire {
 public:
  GilAcquire() : state_(take_gil(PyGILState_Ensure)) {}
  ~GilAcquire() { PyGILState_Release(state_); }
  GilAcquire(const GilAcquire &) = delete;
  GilAcquire &operator=(const GilAcquire &) = delete;

 private:
  PyGILState_STATE state_;
};

// Returns work(), run without the GIL.
template <class Work>
auto without_gil(Work &&work) {
  const GilRelease release;
  return work();
}

// Whether the first axes of an array have these sizes; true for an optional array that is not given.
template <class Array, class... Sizes>
bool has_shape(const Array &array, Sizes... sizes) {
  size_t axis = 0;
  return ((array.shape(axis++) == static_cast<size_t>(sizes)) && ...);
}
template <class Array, class... Sizes>
bool has_shape(const std::optional<Array> &array, Sizes... sizes) {
  return !array || has_shape(*array, sizes...);
}

template <class Array>
auto *data_or_null(const std::optional<Array> &values) {
  return values ? values->data() : nullptr;
}

template <class T>
std::vector<T> copied(const In1<T> &values) {
  return {values.data(), values.data() + values.size()};
}

// Integer weights, one per row; none: each row counts once.
using Weights = std::optional<In1<int64_t>>;

// The data of checked weights; null where each row counts once.
inline const int64_t *checked(const Weights &weights, int64_t n_rows) {
  require(has_shape(weights, n_rows), "there is one weight for each row");
  return data_or_null(weights);
}

// An array that Python owns.
template <class T, size_t N>
using Owned = nb::ndarray<nb::numpy, T, nb::ndim<N>>;

// An uninitialized array that is filled here and then given to NumPy, which owns it.
template <class T, size_t N>
class NewArray {
 public:
  template <class... Sizes>
  explicit NewArray(Sizes... sizes) : shape_{static_cast<size_t>(sizes)...} {
    static_assert(sizeof...(Sizes) == N && std::is_trivial_v<T>);
    size_t n = 1;
    for (size_t s : shape_) n *= s;
    data_.reset(static_cast<T *>(allocate_bytes(n * sizeof(T))));
  }

  T *data() { return data_.get(); }

  // Moves the values to NumPy; needs the GIL.
  Owned<T, N> to_numpy() {
    nb::capsule owner(data_.get(), [](void *values) noexcept { std::free(values); });
    return Owned<T, N>(data_.release(), N, shape_.data(), owner);
  }

 private:
  std::array<size_t, N> shape_;
  struct Free {
    void operator()(T *values) const noexcept { std::free(values); }
  };
  std::unique_ptr<T[], Free> data_;
};

// Binds a function for each of some types; the first one has the docstring.
template <class... Types, class Bind>
void for_types(const char *doc, Bind &&bind) {
  (bind(Types{}, std::exchange(doc, "")), ...);
}

// Moves a vector to NumPy without a copy; needs the GIL.
template <class T>
Owned<T, 1> to_numpy(std::vector<T> &&values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  nb::capsule owner(owned.get(), [](void *vector) noexcept { delete static_cast<std::vector<T> *>(vector); });
  std::vector<T> *moved = owned.release();
  return Owned<T, 1>(moved->data(), {moved->size()}, owner);
}

}  // namespace cutwise
