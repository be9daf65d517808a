/* operator.cpp - the ADIOS2 operator: compresses and restores the blocks of variables.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A block becomes an archive, or, if no archive is smaller or it has no values, a plain chunk,
 * whose head has a checksum. Blocks of types that no bound applies to are compressed losslessly, as
 * words of 8, 4 or 1 bytes. An exception ends the call of the program, so each is a sentence.
 */
#include <adios2/plugin/PluginOperatorInterface.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>

#include "../chunks/lost.h"
#include "../chunks/plain_chunk.h"
#include "../szgpu/values.h"
#include "gpu_memory.h"
#include "old_adios2.h"
#include "settings.h"

#if ADIOS2_PLUGIN_OPERATOR_INTERFACE != 2
#error "This plugin is for version 2 of the interface, which ADIOS2 has since 2.12."
#endif

namespace {

using adios2::DataType;
using adios2::Dims;

struct Destroy {
  void operator()(szgpu_ctx *ctx) const { szgpu_destroy(ctx); }
};
using Ctx = std::unique_ptr<szgpu_ctx, Destroy>;

[[noreturn]] void fail(const std::string &subject, szgpu_status status, const szgpu_ctx *ctx) {
  std::string const detail = szgpu_last_error(ctx);
  throw std::runtime_error("szgpu: " + subject + ": " + szgpu_status_text(status) +
                           (detail.empty() ? "" : " (" + detail + ")"));
}

/* How a type is compressed. width 0: not at all. */
struct Form {
  szgpu_dtype dtype;
  size_t width; /* of a value, in bytes */
  bool has_bound;
};

Form form_of(DataType type) {
  switch (type) {
    case DataType::Float:
      return {SZGPU_F32, 4, true};
    case DataType::Double:
      return {SZGPU_F64, 8, true};
    case DataType::Int8:
      return {SZGPU_I8, 1, true};
    case DataType::UInt8:
      return {SZGPU_U8, 1, true};
    case DataType::Int16:
      return {SZGPU_I16, 2, true};
    case DataType::UInt16:
      return {SZGPU_U16, 2, true};
    case DataType::Int32:
      return {SZGPU_I32, 4, true};
    case DataType::UInt32:
      return {SZGPU_F32, 4, false};
    case DataType::Int64:
    case DataType::UInt64:
    case DataType::FloatComplex:
      return {SZGPU_F64, 8, false};
    case DataType::LongDouble:
    case DataType::DoubleComplex:
      return {SZGPU_F64, 16, false};
    case DataType::Char:
      return {SZGPU_U8, 1, false};
    default:
      return {SZGPU_U8, 0, false};
  }
}

/* The dims of a block that are not 1; if they are more than four, the first are joined. Throws if
 * the sizes do not fit in 64 bits. */
szgpu_shape shape_of(const Form &form, const Dims &counts) {
  szgpu_shape shape = {form.dtype, 0, {1, 1, 1, 1}};
  for (size_t const count : counts) {
    if (count == 1) continue;
    if (shape.ndim == MAX_DIMS) {
      if (__builtin_mul_overflow(shape.dims[0], shape.dims[1], &shape.dims[0]))
        fail("block", SZGPU_BAD_SHAPE, nullptr);
      std::memmove(shape.dims + 1, shape.dims + 2, 2 * sizeof *shape.dims);
      shape.ndim--;
    }
    shape.dims[shape.ndim++] = count;
  }
  if (shape.ndim == 0) shape.ndim = 1;
  shape.dims[shape.ndim - 1] *= form.width / dtype_bytes(form.dtype);
  return shape;
}

/* Values for the host: a copy if they are on a GPU. */
struct Copy {
  Copy(const char *original, size_t byte_count) : values(original) {
    if (byte_count == 0 || gpu_of(original) < 0) return;
    own.reset(new char[byte_count]);
    if (!gpu_copy(original, byte_count, own.get())) fail("block", SZGPU_DEVICE_ERROR, nullptr);
    values = own.get();
  }
  const char *values;
  std::unique_ptr<char[]> own;
};

class Operator : public adios2::plugin::PluginOperatorInterface {
 public:
  explicit Operator(const adios2::Params &parameters) : PluginOperatorInterface(parameters) {}

  bool IsDataTypeValid(const DataType type) const override { return form_of(type).width > 0; }

  size_t GetEstimatedSize(const size_t count, const size_t width, const size_t,
                          const size_t *) const override {
    return count * width + PLAIN_CHUNK_HEAD_BYTES;
  }

  size_t Operate(const char *values, const Dims &, const Dims &counts, const DataType type,
                 char *stored) override;
  size_t InverseOperate(const char *stored, const size_t stored_bytes, char *values) override;

 private:
  void read_settings_once();
  szgpu_ctx *open_ctx(szgpu_backend backend, int device);
  szgpu_params params_of(const Form &form) const;
  size_t compress(const szgpu_params &params, const szgpu_shape &shape, const char *values,
                  size_t byte_count, char *archive);

  Settings settings_;
  bool is_read_ = false; /* settings_ */
  Ctx ctx_;
  szgpu_backend backend_ = SZGPU_BACKEND_AUTO; /* that of ctx_ */
  int device_ = -1;
};

/* Not when ADIOS2 makes the operator: AddOperation must not throw, or the program is ended. */
void Operator::read_settings_once() {
  if (!is_read_) settings_ = read_settings(m_Parameters);
  is_read_ = true;
}

szgpu_ctx *Operator::open_ctx(szgpu_backend backend, int device) {
  if (ctx_ && backend_ == backend && device_ == device) return ctx_.get();
  szgpu_options options = settings_.options;
  szgpu_ctx *made = nullptr;
  options.backend = backend;
  options.device = device;
  szgpu_status const status = szgpu_create(&made, &options);
  if (status) fail("block", status, nullptr);
  ctx_.reset(made);
  backend_ = backend;
  device_ = device;
  return made;
}

szgpu_params Operator::params_of(const Form &form) const {
  szgpu_params params = settings_.params;
  if (!form.has_bound) return chunk_lossless_params(&params);
  if (params.mode != SZGPU_MODE_LOSSLESS) params.keep = SZGPU_KEEP_MISSING | SZGPU_KEEP_RANGE;
  return params;
}

/* Returns the size of the archive; 0: none is smaller than the values. It is lossless if values
 * would become missing ones. */
size_t Operator::compress(const szgpu_params &params, const szgpu_shape &shape, const char *values,
                          size_t byte_count, char *archive) {
  szgpu_ctx *const ctx = ctx_.get();
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  size_t archive_bytes = 0;
  bool loses = false;
  szgpu_status status =
      szgpu_compress(ctx, &params, &shape, values, archive, byte_count, &archive_bytes);
  if (status == SZGPU_CAPACITY) return 0;
  if (!status) status = szgpu_inspect(archive, archive_bytes, &info);
  if (!status && chunk_may_lose(&info, false)) {
    Copy const copy(values, byte_count);
    status = chunk_find_lost(ctx, archive, archive_bytes, copy.values, byte_count,
                             dtype_bytes(shape.dtype), &loses);
  }
  if (status) fail("block", status, ctx);
  if (!loses) return archive_bytes;
  return compress(chunk_lossless_params(&params), shape, values, byte_count, archive);
}

size_t Operator::Operate(const char *values, const Dims &, const Dims &counts, const DataType type,
                         char *stored) {
  Form const form = form_of(type);
  read_settings_once();
  require_bound(settings_);
  if (form.width == 0)
    throw std::invalid_argument(
        "szgpu: text and records cannot be compressed; remove the operator from this variable");
  uint64_t byte_count = 0;
  if (std::count(counts.begin(), counts.end(), 0) == 0) {
    szgpu_shape const shape = shape_of(form, counts);
    if (!shape_bytes(&shape, &byte_count)) fail("block", SZGPU_BAD_SHAPE, nullptr);
    int const gpu = gpu_of(values);
    if (gpu >= 0 && !szgpu_has_cuda())
      throw std::invalid_argument(
          "szgpu: the values are in the memory of a GPU, which this build "
          "cannot read; build it with -DSZGPU_CUDA=ON");
    if (gpu >= 0)
      open_ctx(SZGPU_BACKEND_CUDA, gpu);
    else
      open_ctx(settings_.options.backend, settings_.options.device);
    size_t const archive_bytes = compress(params_of(form), shape, values, byte_count, stored);
    if (archive_bytes > 0) return archive_bytes;
  }
  plain_chunk_make(Copy(values, byte_count).values, byte_count, stored);
  return byte_count + PLAIN_CHUNK_HEAD_BYTES;
}

/* ADIOS2 does not say how much memory `values` has: as much as the metadata state that the block
 * has. So nothing is written before a checksum has confirmed the block's own size. */
size_t Operator::InverseOperate(const char *stored, const size_t stored_bytes, char *values) {
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  read_settings_once();
  if (stored_bytes > size_t(std::numeric_limits<ptrdiff_t>::max())) /* less than ADIOS2's head */
    fail("block", SZGPU_TRUNCATED, nullptr);
  if (plain_chunk_is_one(stored, stored_bytes)) {
    if (stored_bytes < PLAIN_CHUNK_HEAD_BYTES) fail("block", SZGPU_TRUNCATED, nullptr);
    size_t const byte_count = stored_bytes - PLAIN_CHUNK_HEAD_BYTES;
    if (plain_chunk_fault(stored, stored_bytes, byte_count))
      fail("block", SZGPU_BAD_CHECKSUM, nullptr);
    if (byte_count == 0) return 1; /* 0 would make ADIOS2 copy what is stored to `values` */
    std::memcpy(values, stored + PLAIN_CHUNK_HEAD_BYTES, byte_count);
    return byte_count;
  }
  szgpu_status status = szgpu_inspect(stored, stored_bytes, &info);
  if (status) fail("block", status, nullptr);
  szgpu_ctx *const ctx = open_ctx(SZGPU_BACKEND_CPU, 0);
  status = szgpu_decompress(ctx, stored, stored_bytes, values, info.field_bytes);
  if (status) fail("block", status, ctx);
  return info.field_bytes;
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT adios2::plugin::PluginOperatorInterface *OperatorCreate(const adios2::Params &parameters) {
  if (is_old_adios2(__builtin_return_address(0)))
    throw std::runtime_error(
        "szgpu: this program has an ADIOS2 before 2.12, which calls plugins "
        "differently; it needs ADIOS2 2.12 or later");
  return new Operator(parameters);
}

EXPORT void OperatorDestroy(adios2::plugin::PluginOperatorInterface *made) { delete made; }
