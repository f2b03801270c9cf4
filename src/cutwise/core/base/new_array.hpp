// Arrays handed to Python: allocated here, freed by the numpy array that owns them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace cutwise {

template <class T, size_t N>
class NewArray {
 public:
  using Numpy = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<N>>;

  // Values are not initialized.
  template <class... Sizes>
  explicit NewArray(Sizes... sizes) : shape_{static_cast<size_t>(sizes)...} {
    static_assert(sizeof...(Sizes) == N);
    size_t n = 1;
    for (size_t s : shape_) n *= s;
    data_.reset(new T[n]);
  }

  T *data() { return data_.get(); }

  // Gives the values away; needs the GIL.
  Numpy to_numpy() {
    T *p = data_.release();
    nanobind::capsule owner(p, [](void *q) noexcept { delete[] static_cast<T *>(q); });
    return Numpy(p, N, shape_.data(), owner);
  }

 private:
  std::array<size_t, N> shape_;
  std::unique_ptr<T[]> data_;
};

}  // namespace cutwise
