/* szgpu.hpp - the library for C++17: objects that free themselves, containers, exceptions.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 *   szgpu::context ctx;
 *   auto archive = ctx.compress(field, {36, 73, 144}, szgpu::bounded(SZGPU_MODE_ABS, 0.01));
 *   std::vector<float> restored = ctx.decompress<float>(archive);
 *
 * Everything is inline over szgpu.h and szgpu_series.h, which say what it means. Their functions
 * that have no counterpart here take what get() returns.
 *
 * Fields and archives are whatever std::data and std::size take: vectors, arrays, and std::span in
 * C++20. The type of a field's values gives its dtype. Dims are those of szgpu_shape, slowest axis
 * first; their product must be the size of the container. An archive's values have one byte each.
 *
 * A call that fails throws szgpu::error, which has the status and the library's sentence. Memory
 * that a container does not get is std::bad_alloc. A ctx and a series can be moved, not copied.
 */
#ifndef SZGPU_HPP
#define SZGPU_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "szgpu_series.h"

namespace szgpu {

class error : public std::runtime_error {
 public:
  error(szgpu_status why, const std::string &sentence)
      : std::runtime_error(szgpu_status_text(why) + (sentence.empty() ? "" : ": " + sentence)),
        status(why) {}
  const szgpu_status status;
};
inline void check(szgpu_status status, const std::string &sentence = "") {
  if (status != SZGPU_OK) throw error(status, sentence);
}

/* The dtype of T. Specialize it for types of your own, such as a half-precision float. */
template <class T>
struct dtype_of;
/* clang-format off */
template <> struct dtype_of<float> : std::integral_constant<szgpu_dtype, SZGPU_F32> {};
template <> struct dtype_of<double> : std::integral_constant<szgpu_dtype, SZGPU_F64> {};
template <> struct dtype_of<std::int8_t> : std::integral_constant<szgpu_dtype, SZGPU_I8> {};
template <> struct dtype_of<std::uint8_t> : std::integral_constant<szgpu_dtype, SZGPU_U8> {};
template <> struct dtype_of<std::int16_t> : std::integral_constant<szgpu_dtype, SZGPU_I16> {};
template <> struct dtype_of<std::uint16_t> : std::integral_constant<szgpu_dtype, SZGPU_U16> {};
template <> struct dtype_of<std::int32_t> : std::integral_constant<szgpu_dtype, SZGPU_I32> {};
template <class T> constexpr szgpu_dtype dtype_at(const T *) { return dtype_of<T>::value; }
/* clang-format on */

using dims = std::vector<std::uint64_t>;

/* The default params with this mode and bound. */
inline szgpu_params bounded(szgpu_mode mode, double bound) {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  params.mode = mode;
  params.bound = bound;
  return params;
}

/* What an archive's header says. */
template <class Bytes>
szgpu_info inspect(const Bytes &archive) {
  static_assert(sizeof *std::data(archive) == 1, "an archive is a container of bytes");
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  check(szgpu_inspect(std::data(archive), std::size(archive), &info));
  return info;
}

namespace detail {
struct free_handle {
  void operator()(szgpu_ctx *ctx) const { szgpu_destroy(ctx); }
  void operator()(szgpu_series *series) const { szgpu_series_close(series); }
};

template <class Field>
szgpu_shape shape_of(const Field &field, const dims &sizes) {
  szgpu_shape shape = {dtype_at(std::data(field)), 0, {0, 0, 0, 0}};
  bool fits = sizes.size() <= 4;
  std::uint64_t left = std::size(field); /* divided by each dim: a product could overflow */
  for (std::size_t i = 0; fits && i < sizes.size(); i++) {
    fits = sizes[i] > 0 && left % sizes[i] == 0;
    if (fits) left /= sizes[i];
    shape.dims[shape.ndim++] = sizes[i];
  }
  check(fits && left == 1 ? SZGPU_OK : SZGPU_BAD_SHAPE, "the container's size is not that of dims");
  return shape;
}

/* The number of values that a call restores. */
inline std::size_t count(szgpu_dtype dtype, const szgpu_info &info, int level,
                         const szgpu_region *region) {
  szgpu_shape shape;
  check(szgpu_level_shape(&info, level, &shape), "there is no such level");
  check(shape.dtype == dtype ? SZGPU_OK : SZGPU_BAD_ARGUMENT,
        "the archive holds values of another type");
  std::size_t values = 1;
  for (int i = 0; i < shape.ndim; i++) {
    check(!region || region->count[i] <= shape.dims[i] ? SZGPU_OK : SZGPU_BAD_ARGUMENT,
          "the region is larger than the field");
    values *= static_cast<std::size_t>(region ? region->count[i] : shape.dims[i]);
  }
  return values;
}
} // namespace detail

class context {
 public:
  explicit context(const szgpu_options &options = szgpu_options SZGPU_OPTIONS_DEFAULTS) {
    szgpu_ctx *ctx;
    szgpu::check(szgpu_create(&ctx, &options));
    ctx_.reset(ctx);
  }
  szgpu_ctx *get() const { return ctx_.get(); }
  void check(szgpu_status status) const { szgpu::check(status, szgpu_last_error(get())); }
  template <class Field>
  std::vector<std::byte> compress(const Field &field, const dims &sizes,
                                  const szgpu_params &params = szgpu_params SZGPU_PARAMS_DEFAULTS) {
    const szgpu_shape shape = detail::shape_of(field, sizes);
    std::size_t capacity = 0, bytes = 0;
    check(szgpu_sizes(get(), &params, &shape, nullptr, &capacity));
    const std::unique_ptr<std::byte[]> room(new std::byte[capacity]);
    check(szgpu_compress(get(), &params, &shape, std::data(field), room.get(), capacity, &bytes));
    return {room.get(), room.get() + bytes};
  }

  /* Restores a field or, with a level above 0, its preview, or a region of either. */
  template <class T, class Bytes>
  std::vector<T> decompress(const Bytes &archive, int level = 0,
                            const szgpu_region *region = nullptr) {
    std::vector<T> field(detail::count(dtype_of<T>::value, inspect(archive), level, region));
    decompress_to(archive, field, level, region);
    return field;
  }
  /* The same, into a container that has the size already. */
  template <class Bytes, class Field>
  void decompress_to(const Bytes &archive, Field &&field, int level = 0,
                     const szgpu_region *region = nullptr) {
    detail::count(dtype_at(std::data(field)), inspect(archive), level, region);
    const std::size_t field_bytes = std::size(field) * sizeof *std::data(field);
    check(region ? szgpu_decompress_region(get(), std::data(archive), std::size(archive), level,
                                           region, std::data(field), field_bytes)
                 : szgpu_decompress_level(get(), std::data(archive), std::size(archive), level,
                                          std::data(field), field_bytes));
  }

 private:
  std::unique_ptr<szgpu_ctx, detail::free_handle> ctx_;
};

/* A series of steps in a file. Steps count from 0. */
class series {
 public:
  explicit series(const std::string &path, szgpu_series_access access = SZGPU_SERIES_READ) {
    szgpu_series *opened;
    int number = 0;
    const szgpu_status status = szgpu_series_open_file(&opened, path.c_str(), access, &number);
    check(status, path + (number ? ": " + std::generic_category().message(number) : ""));
    series_.reset(opened);
  }
  szgpu_series *get() const { return series_.get(); }
  std::uint64_t size() const { return szgpu_series_count(get()); }

  szgpu_info inspect(std::uint64_t index) {
    szgpu_info info = SZGPU_INFO_DEFAULTS;
    check(szgpu_series_inspect(get(), index, &info));
    return info;
  }
  template <class Field>
  void append(context &ctx, const Field &field, const dims &sizes,
              const szgpu_params &params = szgpu_params SZGPU_PARAMS_DEFAULTS,
              const szgpu_label *label = nullptr) {
    const szgpu_shape shape = detail::shape_of(field, sizes);
    ctx.check(szgpu_series_append(get(), ctx.get(), &params, &shape, std::data(field), label));
  }
  template <class T>
  std::vector<T> read(context &ctx, std::uint64_t index, int level = 0,
                      const szgpu_region *region = nullptr) {
    std::vector<T> field(detail::count(dtype_of<T>::value, inspect(index), level, region));
    ctx.check(szgpu_series_read(get(), ctx.get(), index, level, region, field.data(),
                                field.size() * sizeof(T)));
    return field;
  }

 private:
  std::unique_ptr<szgpu_series, detail::free_handle> series_;
};
} // namespace szgpu

#endif
