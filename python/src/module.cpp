// module.cpp - the module szgpu._core: the C library's calls on buffers, without Python's lock.
// SPDX-License-Identifier: BSD-3-Clause
//
// Buffers are one-dimensional and contiguous; what an array means, and where results go, is decided
// in arrays.py. Failures become the exceptions of errors.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <fcntl.h>
#include <unistd.h>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "core/environment.h"
#include "fill_guess.h"
#include "launcher.h"
#include "lost.h"
#include "plain_chunk.h"
#include "szgpu.h"
#include "szgpu_hdf5.h"
#include "szgpu_series.h"
#include "values.h"

namespace nb = nanobind;

namespace {

using source_buffer = nb::ndarray<nb::ro>; // read by the library
using target_buffer = nb::ndarray<>;       // written by it

// Before Python 3.14, a thread that asks for Python's lock while the interpreter ends is ended by
// unwinding its stack, at which C++ ends the process. Such a thread sleeps instead, as it does from
// 3.14 on.
template <typename Take>
void take_python_lock(Take take) {
#ifdef __GLIBCXX__
  try {
    take();
  } catch (abi::__forced_unwind &) {
    for (;;) pause();
  }
#else
  take();
#endif
}

// For a scope: without Python's lock.
class unlocked {
 public:
  unlocked() : state_(PyEval_SaveThread()) {}
  ~unlocked() {
    take_python_lock([this] { PyEval_RestoreThread(state_); });
  }
  unlocked(const unlocked &) = delete;
  unlocked &operator=(const unlocked &) = delete;

 private:
  PyThreadState *state_;
};

// For a scope: with it, in any thread.
class locked {
 public:
  locked() {
    take_python_lock([this] { state_ = PyGILState_Ensure(); });
  }
  ~locked() { PyGILState_Release(state_); }
  locked(const locked &) = delete;
  locked &operator=(const locked &) = delete;

 private:
  PyGILState_STATE state_;
};

// ---- failures ----

[[noreturn]] void raise_status(szgpu_status status, const char *sentence) {
  nb::object const error =
      nb::module_::import_("szgpu.errors")
          .attr("of_status")(static_cast<int>(status), szgpu_status_text(status), sentence);
  PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

void check(szgpu_status status) {
  if (status != SZGPU_OK) raise_status(status, "");
}

// ---- floating point ----

// The library's environment, between calls that are in one thread. As a context manager of Python it
// is for what is computed there.
class environment {
 public:
  void enter() { szg_environment_enter(&callers_); }
  void leave() { szg_environment_leave(&callers_); }

 private:
  fenv_t callers_;
};

// ---- buffers ----

template <typename Buffer>
void require_contiguous(const Buffer &buffer) {
  int64_t stride = 1;
  for (size_t i = buffer.ndim(); i-- > 0;) {
    if (buffer.shape(i) != 1 && buffer.stride(i) != stride)
      throw nb::value_error(
          "the array is not contiguous: make it so first, with ascontiguousarray() "
          "or contiguous()");
    stride *= static_cast<int64_t>(buffer.shape(i));
  }
}

// ---- what is asked of a compression ----

struct request {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  szgpu_shape shape{};
};

uint64_t value_bytes(szgpu_dtype dtype) {
  switch (dtype) {
    case SZGPU_F64:
      return 8;
    case SZGPU_F32:
    case SZGPU_I32:
      return 4;
    case SZGPU_F16:
    case SZGPU_BF16:
    case SZGPU_U16:
    case SZGPU_I16:
      return 2;
    default:
      return 1;
  }
}

void set_shape(request &self, int dtype, const std::vector<uint64_t> &dims) {
  self.shape.dtype = static_cast<szgpu_dtype>(dtype);
  self.shape.ndim = static_cast<int>(dims.size());
  if (dims.size() > 4) throw nb::value_error("a field has at most 4 dims");
  for (size_t i = 0; i < dims.size(); i++) self.shape.dims[i] = dims[i];
}

// What is kept exactly.
void set_fills(request &self, const std::vector<double> &fills) {
  if (fills.size() > 1 + SZGPU_MOST_MORE_FILLS)
    raise_status(SZGPU_BAD_ARGUMENT, "at most four fill values of an array are kept exactly");
  self.params.has_fill = !fills.empty();
  self.params.fill = fills.empty() ? 0.0 : fills[0];
  self.params.more_fill_count = fills.empty() ? 0 : (uint32_t)fills.size() - 1;
  for (size_t i = 1; i < fills.size(); i++) self.params.more_fills[i - 1] = fills[i];
}

// What is valid: other numbers are kept exactly.
void set_valid(request &self, double least, double greatest) {
  self.params.has_valid = 1;
  self.params.valid_least = least;
  self.params.valid_greatest = greatest;
}

// A wrong size would make the library leave the buffer, so it is checked here once more.
template <typename Buffer>
void require_field(const request &self, const Buffer &field) {
  require_contiguous(field);
  uint64_t bytes = value_bytes(self.shape.dtype);
  for (int i = 0; i < self.shape.ndim; i++) {
    if (self.shape.dims[i] != 0 && bytes > UINT64_MAX / self.shape.dims[i])
      throw nb::value_error("the shape is too large");
    bytes *= self.shape.dims[i];
  }
  if (bytes != field.nbytes()) throw nb::value_error("the buffer does not have the shape's size");
}

szgpu_region take_region(const std::vector<uint64_t> &box) {
  size_t const axis_count = box.size() / 2;
  szgpu_region region{};
  if (axis_count > 4) throw nb::value_error("a region has at most 4 axes");
  for (size_t i = 0; i < axis_count; i++) {
    region.first[i] = box[i];
    region.count[i] = box[axis_count + i];
  }
  return region;
}

// ---- many fields on a GPU ----

using request_list = std::vector<const request *>; // of one call: the params of the first count

void require_counts(size_t items, size_t buffers, const target_buffer &outcomes) {
  if (items != buffers || outcomes.nbytes() != items * sizeof(szgpu_outcome))
    throw nb::value_error("there are not as many buffers and outcomes as requests");
}

std::vector<szgpu_async_item> items_of_shapes(const request_list &requests) {
  std::vector<szgpu_async_item> items(requests.size());
  for (size_t i = 0; i < items.size(); i++) items[i].shape = requests[i]->shape;
  return items;
}

// ---- what archives say of themselves ----

nb::dict describe(const szgpu_info &info) {
  nb::dict dict;
  nb::list dims;
  for (int i = 0; i < info.shape.ndim; i++) dims.append(info.shape.dims[i]);
  dict["dtype"] = static_cast<int>(info.shape.dtype);
  dict["shape"] = nb::tuple(dims);
  dict["mode"] = static_cast<int>(info.mode);
  dict["layout"] = static_cast<int>(info.layout);
  dict["format_version"] = info.format_version;
  dict["source"] = info.source;
  dict["bound"] = info.bound;
  dict["absolute_bound"] = info.absolute_bound;
  dict["value_range"] = info.value_range;
  nb::list fills;
  if (info.has_fill) fills.append(info.fill);
  for (uint32_t i = 0; i < info.more_fill_count; i++) fills.append(info.more_fills[i]);
  dict["fills"] = nb::tuple(fills);
  dict["limits"] =
      info.has_limits ? nb::object(nb::make_tuple(info.least, info.greatest)) : nb::none();
  dict["frame_rows"] = info.frame_rows;
  dict["frame_count"] = info.frame_count;
  dict["field_bytes"] = info.field_bytes;
  dict["archive_bytes"] = info.archive_bytes;
  return dict;
}

// ---- a ctx ----

class context {
 public:
  context(int backend, int device, int threads, int decoder, uintptr_t stream,
          uint64_t memory_limit) {
    szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
    options.backend = static_cast<szgpu_backend>(backend);
    options.device = device;
    options.threads = threads ? threads : launcher_threads(sysconf(_SC_NPROCESSORS_ONLN));
    options.decoder = static_cast<szgpu_decoder>(decoder);
    options.stream = reinterpret_cast<CUstream_st *>(stream);
    options.memory_limit = memory_limit;
    options.progress = report;
    options.progress_user = this;
    check(szgpu_create(&ctx_, &options));
  }
  ~context() { szgpu_destroy(ctx_); }
  context(const context &) = delete;
  context &operator=(const context &) = delete;

  size_t capacity(const request &what) {
    size_t bytes = 0;
    szgpu_status status;
    begin(nb::none());
    {
      unlocked const without_lock;
      status = szgpu_sizes(ctx_, &what.params, &what.shape, nullptr, &bytes);
    }
    finish(status);
    return bytes;
  }

  // What the archive of a field in the memory of the CPU would state.
  nb::dict foresee(const request &what, const source_buffer &field) {
    szgpu_info info = SZGPU_INFO_DEFAULTS;
    szgpu_status status;
    require_field(what, field);
    begin(nb::none());
    {
      unlocked const without_lock;
      status = szgpu_foresee(ctx_, &what.params, &what.shape, field.data(), &info);
    }
    finish(status);
    return describe(info);
  }

  // Returns the archive's size.
  size_t compress(const request &what, const source_buffer &field, const target_buffer &archive,
                  nb::object progress) {
    require_field(what, field);
    require_contiguous(archive);
    return compress_to(what, field.data(), archive.data(), archive.nbytes(), std::move(progress));
  }

  // Python's stable ABI cannot cut a bytes object to its size, so the archive is copied into one.
  nb::bytes compress_bytes(const request &what, const source_buffer &field, nb::object progress) {
    require_field(what, field);
    room archive = take_room(capacity(what));
    size_t const used = compress_to(what, field.data(), archive.bytes.get(), archive.byte_count,
                                    std::move(progress));
    nb::bytes const copy(archive.bytes.get(), used);
    keep_room(std::move(archive));
    return copy;
  }

  // Restores rows first_row to first_row + row_count - 1, or all rows if row_count is 0, or a
  // preview if level is above 0, or a region of one of them: first indices, then counts.
  void decompress(const source_buffer &archive, const target_buffer &field, uint64_t first_row,
                  uint64_t row_count, int level, const std::optional<std::vector<uint64_t>> &box,
                  nb::object progress) {
    require_contiguous(archive);
    require_contiguous(field);
    szgpu_region region{};
    if (box) region = take_region(*box);
    szgpu_status status;
    begin(std::move(progress));
    {
      unlocked const without_lock;
      if (box)
        status = szgpu_decompress_region(ctx_, archive.data(), archive.nbytes(), level, &region,
                                         field.data(), field.nbytes());
      else if (level > 0)
        status = szgpu_decompress_level(ctx_, archive.data(), archive.nbytes(), level, field.data(),
                                        field.nbytes());
      else if (row_count > 0)
        status = szgpu_decompress_slab(ctx_, archive.data(), archive.nbytes(), first_row, row_count,
                                       field.data(), field.nbytes());
      else
        status =
            szgpu_decompress(ctx_, archive.data(), archive.nbytes(), field.data(), field.nbytes());
    }
    finish(status);
  }

  // Whether other values of a field are restored as a fill value; both in the memory of the CPU.
  bool loses(const source_buffer &field, const source_buffer &archive, bool ignores_zero) {
    szgpu_info info = SZGPU_INFO_DEFAULTS;
    bool is_found = false;
    require_contiguous(field);
    require_contiguous(archive);
    check(szgpu_inspect(archive.data(), archive.nbytes(), &info));
    if (info.field_bytes != field.nbytes())
      throw nb::value_error("the archive is not one of this field");
    szgpu_status status;
    begin(nb::none());
    {
      unlocked const without_lock;
      status = chunk_find_lost_but_zero(ctx_, archive.data(), archive.nbytes(), field.data(),
                                        field.nbytes(), value_bytes(info.shape.dtype), ignores_zero,
                                        &is_found);
    }
    finish(status);
    return is_found;
  }

  // Whether the calls below take such a field, with these params.
  bool takes(const request &asked) {
    szgpu_async_item item{};
    size_t bytes = 0;
    item.shape = asked.shape;
    begin(nb::none());
    szgpu_status const status = szgpu_async_bytes(ctx_, &asked.params, &item, 1, &bytes);
    if (status != SZGPU_UNSUPPORTED) finish(status);
    return status == SZGPU_OK;
  }

  // The workspace of the two calls below.
  size_t many_bytes(const request_list &requests) {
    if (requests.empty()) return 0;
    std::vector<szgpu_async_item> const items = items_of_shapes(requests);
    size_t bytes = 0;
    begin(nb::none());
    finish(szgpu_async_bytes(ctx_, &requests[0]->params, items.data(), items.size(), &bytes));
    return bytes;
  }

  // Puts the compression of all fields in the stream. Archive i lies at places[i] in `archives`.
  // outcomes: 16 bytes for each field, which say what became of it once the stream has done that.
  void compress_many(const request_list &requests, const std::vector<source_buffer> &fields,
                     const target_buffer &archives, const std::vector<uint64_t> &places,
                     const target_buffer &outcomes, const target_buffer &workspace,
                     uintptr_t stream) {
    std::vector<szgpu_async_item> items = items_of_shapes(requests);
    require_counts(items.size(), fields.size(), outcomes);
    if (places.size() != items.size() + 1 || !std::is_sorted(places.begin(), places.end()) ||
        places.back() > archives.nbytes())
      throw nb::value_error("the archives do not have these places");
    for (size_t i = 0; i < items.size(); i++) {
      require_field(*requests[i], fields[i]);
      items[i].field = const_cast<void *>(fields[i].data());
      items[i].archive = static_cast<uint8_t *>(archives.data()) + places[i];
      items[i].archive_bytes = places[i + 1] - places[i];
      items[i].outcome = static_cast<szgpu_outcome *>(outcomes.data()) + i;
    }
    if (items.empty()) return;
    begin(nb::none());
    finish(szgpu_compress_async(ctx_, &requests[0]->params, items.data(), items.size(),
                                workspace.data(), workspace.nbytes(),
                                reinterpret_cast<CUstream_st *>(stream)));
  }

  // The reverse.
  // The ranges that a region needs besides those that are present, as first bytes and counts.
  std::vector<std::pair<uint64_t, uint64_t>> region_ranges(
      const source_buffer &archive, int level, const std::vector<uint64_t> &box,
      const std::vector<std::pair<uint64_t, uint64_t>> &present, uint64_t gap_bytes, size_t most) {
    require_contiguous(archive);
    szgpu_region const region = take_region(box);
    std::vector<szgpu_range> there, missing(most);
    for (const auto &[offset, byte_count] : present) there.push_back({offset, byte_count});
    size_t count = 0;
    szgpu_status status;
    begin(nb::none());
    {
      unlocked const without_lock;
      status =
          szgpu_region_ranges(ctx_, archive.data(), archive.nbytes(), level, &region, there.data(),
                              there.size(), gap_bytes, missing.data(), missing.size(), &count);
    }
    finish(status);
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (size_t i = 0; i < count; i++)
      ranges.emplace_back(missing[i].offset, missing[i].byte_count);
    return ranges;
  }

  void decompress_many(const request_list &requests, const std::vector<source_buffer> &archives,
                       const std::vector<target_buffer> &fields, const target_buffer &outcomes,
                       const target_buffer &workspace, uintptr_t stream) {
    std::vector<szgpu_async_item> items = items_of_shapes(requests);
    require_counts(items.size(), archives.size(), outcomes);
    require_counts(items.size(), fields.size(), outcomes);
    for (size_t i = 0; i < items.size(); i++) {
      require_contiguous(archives[i]);
      require_field(*requests[i], fields[i]);
      items[i].field = fields[i].data();
      items[i].archive = const_cast<void *>(archives[i].data());
      items[i].archive_bytes = archives[i].nbytes();
      items[i].outcome = static_cast<szgpu_outcome *>(outcomes.data()) + i;
    }
    if (items.empty()) return;
    begin(nb::none());
    finish(szgpu_decompress_async(ctx_, &requests[0]->params, items.data(), items.size(),
                                  workspace.data(), workspace.nbytes(),
                                  reinterpret_cast<CUstream_st *>(stream)));
  }

  std::string note() {
    begin(nb::none());
    std::string const note = szgpu_last_note(ctx_);
    finish(SZGPU_OK);
    return note;
  }

 private:
  using clock = std::chrono::steady_clock;

  // Memory for archives, which costs time when it is new. That of large fields is given back.
  struct room {
    std::unique_ptr<uint8_t, decltype(&std::free)> bytes{nullptr, std::free};
    size_t byte_count = 0;
  };
  static constexpr size_t kKeptRoomBytes = size_t{256} << 20;

  szgpu_ctx *ctx_ = nullptr;
  std::mutex room_mutex_;
  room room_;
  nb::object progress_;           // what the caller wants to be called with (done, total), or None
  clock::time_point next_look_{}; // when to look for signals again
  std::atomic<bool> is_busy_{false};

  void keep_room(room used) {
    std::lock_guard<std::mutex> const turn(room_mutex_);
    if (used.byte_count <= kKeptRoomBytes) room_ = std::move(used);
  }

  room take_room(size_t byte_count) {
    room taken;
    {
      std::lock_guard<std::mutex> const turn(room_mutex_);
      std::swap(taken, room_);
    }
    if (taken.byte_count >= byte_count) return taken;
    taken.bytes.reset(static_cast<uint8_t *>(std::malloc(byte_count)));
    if (!taken.bytes) throw std::bad_alloc();
    taken.byte_count = byte_count;
    return taken;
  }

  void begin(nb::object progress) {
    if (is_busy_.exchange(true))
      throw nb::value_error(
          "this object is at work, in another thread or in the call that reports "
          "its progress: give each thread one of its own");
    progress_ = std::move(progress);
    next_look_ = clock::now() + std::chrono::milliseconds(100);
  }

  void finish(szgpu_status status) {
    std::string const sentence = status == SZGPU_OK ? "" : szgpu_last_error(ctx_);
    progress_ = nb::none();
    is_busy_ = false;
    if (PyErr_Occurred()) throw nb::python_error(); // the progress callback's, or Ctrl-C
    if (status != SZGPU_OK) raise_status(status, sentence.c_str());
  }

  size_t compress_to(const request &what, const void *field, void *archive, size_t capacity,
                     nb::object progress) {
    size_t used = 0;
    szgpu_status status;
    begin(std::move(progress));
    {
      unlocked const without_lock;
      status = szgpu_compress(ctx_, &what.params, &what.shape, field, archive, capacity, &used);
    }
    finish(status);
    return used;
  }

  // Python's lock is taken for the caller's callback, and ten times a second for Ctrl-C.
  static int report(void *user, uint64_t done, uint64_t total) {
    auto *const self = static_cast<context *>(user);
    auto const now = clock::now();
    bool const wants_reports = !self->progress_.is_none();
    if (!wants_reports && now < self->next_look_) return 0;
    self->next_look_ = now + std::chrono::milliseconds(100);
    locked const with_lock;
    if (PyErr_CheckSignals() != 0) return 1;
    if (!wants_reports) return 0;
    PyObject *const answer =
        PyObject_CallFunction(self->progress_.ptr(), "KK", static_cast<unsigned long long>(done),
                              static_cast<unsigned long long>(total));
    Py_XDECREF(answer);
    return answer ? 0 : 1;
  }
};

// ---- series ----

// Calls wait for each other, without Python's lock, which the one at work may need.
class series {
 public:
  series(nb::bytes path, bool is_append) : path_(path) {
    if (std::strlen(path.c_str()) != path.size()) throw nb::value_error("embedded null byte");
    int error_number = 0;
    szgpu_status status;
    szgpu_series *opened;
    {
      unlocked const without_lock;
      status = szgpu_series_open_file(&opened, path_.c_str(),
                                      is_append ? SZGPU_SERIES_APPEND : SZGPU_SERIES_READ,
                                      &error_number);
    }
    check_file({status, error_number});
    series_ = opened;
  }
  ~series() { szgpu_series_close(series_.load()); }
  series(const series &) = delete;
  series &operator=(const series &) = delete;

  void close() {
    unlocked const without_lock;
    std::unique_lock<std::mutex> turn(mutex_, std::defer_lock);
    if (!is_inherited()) turn.lock();
    szgpu_series_close(series_.exchange(nullptr));
  }

  uint64_t count() {
    uint64_t steps = 0;
    check_file(call([&](szgpu_series *opened) {
      steps = szgpu_series_count(opened);
      return SZGPU_OK;
    }));
    return steps;
  }

  nb::dict step(uint64_t index) {
    szgpu_step step = SZGPU_STEP_DEFAULTS;
    check_file(call([&](szgpu_series *opened) { return szgpu_series_step(opened, index, &step); }));
    return dict_of(step);
  }

  // Of the file, to map it; the caller closes it.
  int descriptor() {
    int copy = -1, error_number = 0;
    outcome const found = call([&](szgpu_series *opened) {
      copy = fcntl(szgpu_series_descriptor(opened), F_DUPFD_CLOEXEC, 0);
      error_number = errno;
      return copy >= 0 ? SZGPU_OK : SZGPU_SOURCE_FAILED;
    });
    check_file({found.status, error_number});
    return copy;
  }

  // What follows the last step: a status, its text, the number of steps, and what its record says.
  nb::tuple end() {
    szgpu_step step = SZGPU_STEP_DEFAULTS;
    szgpu_status end = SZGPU_OK;
    uint64_t steps = 0;
    check_file(call([&](szgpu_series *opened) {
      end = szgpu_series_end(opened, &step);
      steps = szgpu_series_count(opened);
      return SZGPU_OK;
    }));
    return nb::make_tuple(static_cast<int>(end), szgpu_status_text(end), steps, dict_of(step));
  }

  void append(const source_buffer &archive, nb::bytes name, std::optional<double> time) {
    require_contiguous(archive);
    szgpu_label const label = {name.c_str(), time.has_value(), time.value_or(0.0)};
    const void *const bytes = archive.data();
    size_t const byte_count = archive.nbytes();
    check_file(call([&](szgpu_series *opened) {
      return szgpu_series_append_archive(opened, bytes, byte_count, &label);
    }));
  }

  void cut() { check_file(call(szgpu_series_cut)); }

 private:
  struct outcome {
    szgpu_status status;
    int error_number;
  };

  nb::bytes path_;
  std::atomic<szgpu_series *> series_{nullptr};
  std::mutex mutex_;
  pid_t const process_ = getpid();

  // Another thread may have held the mutex at the fork: then nobody gives it back.
  bool is_inherited() const { return getpid() != process_; }

  template <typename Work>
  outcome call(Work work) {
    if (is_inherited()) return {SZGPU_OTHER_PROCESS, 0};
    unlocked const without_lock;
    std::lock_guard<std::mutex> const turn(mutex_);
    szgpu_series *const opened = series_;
    if (!opened) throw nb::value_error("the series is closed: open it again");
    szgpu_status const status = work(opened);
    return {status, szgpu_series_errno(opened)};
  }

  // Failures of the file are OSErrors, with its name.
  void check_file(outcome found) const {
    bool const is_of_file =
        found.status == SZGPU_SOURCE_FAILED || found.status == SZGPU_SINK_FAILED;
    if (!is_of_file || found.error_number == 0) return check(found.status);
    errno = found.error_number;
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, path_.c_str());
    throw nb::python_error();
  }

  static nb::dict dict_of(const szgpu_step &step) {
    nb::dict dict;
    dict["name"] = nb::bytes(step.name, std::strlen(step.name));
    dict["time"] = step.has_time ? nb::object(nb::float_(step.time)) : nb::none();
    dict["archive_offset"] = step.archive_offset;
    dict["archive_bytes"] = step.archive_bytes;
    return dict;
  }
};

// ---- an archive ----

nb::dict inspect(const source_buffer &archive) {
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  check(szgpu_inspect(archive.data(), archive.nbytes(), &info));
  return describe(info);
}

// Whether `loses` needs to look.
bool may_lose(const source_buffer &archive, bool ignores_zero) {
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  check(szgpu_inspect(archive.data(), archive.nbytes(), &info));
  return chunk_may_lose(&info, ignores_zero);
}

// Why a chunk that the HDF5 filter stored as it is cannot be read; "" if it can; None if it is none.
std::optional<std::string> plain_chunk_fault_of(const source_buffer &stored, size_t chunk_bytes) {
  if (!plain_chunk_is_one(stored.data(), stored.nbytes())) return std::nullopt;
  const char *const fault = plain_chunk_fault(stored.data(), stored.nbytes(), chunk_bytes);
  return fault ? fault : "";
}

nb::list inspect_frames(const source_buffer &archive, uint64_t first, uint64_t count) {
  std::vector<szgpu_frame_info> infos(count, szgpu_frame_info SZGPU_FRAME_INFO_DEFAULTS);
  check(szgpu_inspect_frames(archive.data(), archive.nbytes(), first, count, infos.data()));
  nb::list frames;
  for (const szgpu_frame_info &info : infos) {
    nb::dict frame, sections;
    for (uint32_t i = 0; i < info.section_count; i++)
      sections[info.sections[i].name] = info.sections[i].stored_bytes;
    frame["kind"] = info.kind;
    frame["first_row"] = info.first_row;
    frame["row_count"] = info.row_count;
    frame["frame_bytes"] = info.frame_bytes;
    frame["predictor"] = info.predictor;
    frame["level_count"] = info.level_count;
    frame["fold"] = info.fold;
    frame["sections"] = sections;
    frames.append(frame);
  }
  return frames;
}

std::vector<uint64_t> level_shape(const source_buffer &archive, int level) {
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  check(szgpu_inspect(archive.data(), archive.nbytes(), &info));
  szgpu_shape shape{};
  check(szgpu_level_shape(&info, level, &shape));
  return {shape.dims, shape.dims + shape.ndim};
}

// A sentence if a value of a field in the memory of the CPU looks like fill, and its archive suffers
// from it; "" if there is nothing to say.
std::string fill_warning(const request &asked, const source_buffer &field,
                         const source_buffer &archive) {
  szgpu_info info = SZGPU_INFO_DEFAULTS;
  char sentence[FILL_SENTENCE_CHARS] = "";
  require_field(asked, field);
  check(szgpu_inspect(archive.data(), archive.nbytes(), &info));
  if (info.shape.dtype != asked.shape.dtype || info.field_bytes != field.nbytes())
    throw nb::value_error("the archive is not one of this field");
  unlocked const without_lock;
  environment own;
  own.enter();
  bool const is_found = warn_of_fill(field.data(), &info, "fill=", sentence);
  own.leave();
  return is_found ? sentence : "";
}

} // namespace

NB_MODULE(_core, module) {
  // A daemon thread may have objects when the interpreter ends.
  nb::set_leak_warnings(false);
  module.attr("version") = szgpu_version();
  module.attr("has_cuda") = szgpu_has_cuda() != 0;
  module.attr("hdf5_filter_id") = SZGPU_H5_FILTER_ID;
  module.attr("hdf5_other_filter_id") = SZGPU_H5_OTHER_FILTER_ID;
  module.attr("other_params") = static_cast<int>(SZGPU_OTHER_PARAMS);
  module.attr("lossless") = static_cast<int>(SZGPU_MODE_LOSSLESS);
  module.attr("most_items") = static_cast<int>(SZGPU_MAX_ASYNC_ITEMS);
  module.attr("outcome_bytes") = sizeof(szgpu_outcome);

  nb::class_<environment>(module, "Environment")
      .def(nb::init<>())
      .def("__enter__", &environment::enter)
      .def("__exit__", [](environment &self, nb::args) { self.leave(); });

  nb::class_<request>(module, "Request")
      .def(nb::init<>())
      .def("set_shape", &set_shape, nb::arg("dtype"), nb::arg("dims"))
      .def_prop_rw(
          "mode", [](const request &self) { return static_cast<int>(self.params.mode); },
          [](request &self, int mode) { self.params.mode = static_cast<szgpu_mode>(mode); })
      .def_prop_rw(
          "bound", [](const request &self) { return self.params.bound; },
          [](request &self, double bound) { self.params.bound = bound; })
      .def_prop_rw(
          "layout", [](const request &self) { return static_cast<int>(self.params.layout); },
          [](request &self, int layout) { self.params.layout = static_cast<szgpu_layout>(layout); })
      .def_prop_rw(
          "predictor", [](const request &self) { return static_cast<int>(self.params.predictor); },
          [](request &self, int predictor) {
            self.params.predictor = static_cast<szgpu_predictor>(predictor);
          })
      .def_prop_rw(
          "frame_rows", [](const request &self) { return self.params.frame_rows; },
          [](request &self, uint64_t rows) { self.params.frame_rows = rows; })
      .def_prop_rw(
          "source", [](const request &self) { return self.params.source; },
          [](request &self, uint32_t source) { self.params.source = source; })
      .def_prop_rw(
          "zstd_level", [](const request &self) { return self.params.zstd_level; },
          [](request &self, int level) { self.params.zstd_level = level; })
      .def("set_fills", &set_fills, nb::arg("fills"))
      .def("set_valid", &set_valid, nb::arg("least"), nb::arg("greatest"))
      .def("keep_all", [](request &self) { self.params.keep = SZGPU_KEEP_ALL; })
      .def_prop_rw(
          "greatest", [](const request &self) { return self.params.greatest; },
          [](request &self, double greatest) { self.params.greatest = greatest; });

  nb::class_<context>(module, "Context")
      .def(nb::init<int, int, int, int, uintptr_t, uint64_t>(), nb::arg("backend"),
           nb::arg("device"), nb::arg("threads"), nb::arg("decoder"), nb::arg("stream"),
           nb::arg("memory_limit"))
      .def("capacity", &context::capacity, nb::arg("request"))
      .def("foresee", &context::foresee, nb::arg("request"), nb::arg("field"))
      .def("compress", &context::compress, nb::arg("request"), nb::arg("field"), nb::arg("archive"),
           nb::arg("progress").none())
      .def("compress_bytes", &context::compress_bytes, nb::arg("request"), nb::arg("field"),
           nb::arg("progress").none())
      .def("decompress", &context::decompress, nb::arg("archive"), nb::arg("field"),
           nb::arg("first_row"), nb::arg("row_count"), nb::arg("level"), nb::arg("region").none(),
           nb::arg("progress").none())
      .def("region_ranges", &context::region_ranges, nb::arg("archive"), nb::arg("level"),
           nb::arg("region"), nb::arg("present"), nb::arg("gap_bytes"), nb::arg("most"))
      .def("loses", &context::loses, nb::arg("field"), nb::arg("archive"), nb::arg("ignores_zero"))
      .def("takes", &context::takes, nb::arg("request"))
      .def("many_bytes", &context::many_bytes, nb::arg("requests"))
      .def("compress_many", &context::compress_many, nb::arg("requests"), nb::arg("fields"),
           nb::arg("archives"), nb::arg("places"), nb::arg("outcomes"), nb::arg("workspace"),
           nb::arg("stream"))
      .def("decompress_many", &context::decompress_many, nb::arg("requests"), nb::arg("archives"),
           nb::arg("fields"), nb::arg("outcomes"), nb::arg("workspace"), nb::arg("stream"))
      .def_prop_ro("note", &context::note);

  nb::class_<series>(module, "Series")
      .def(nb::init<nb::bytes, bool>(), nb::arg("path"), nb::arg("is_append"))
      .def("close", &series::close)
      .def("count", &series::count)
      .def("step", &series::step, nb::arg("index"))
      .def("descriptor", &series::descriptor)
      .def("end", &series::end)
      .def("append", &series::append, nb::arg("archive"), nb::arg("name"), nb::arg("time").none())
      .def("cut", &series::cut);

  module.def(
      "status_text",
      [](int status) { return szgpu_status_text(static_cast<szgpu_status>(status)); },
      nb::arg("status"));
  module.def(
      "has_value",
      [](int dtype, double value) {
        return dtype_has_value(static_cast<szgpu_dtype>(dtype), value);
      },
      nb::arg("dtype"), nb::arg("value"));
  module.def("fill_warning", &fill_warning, nb::arg("request"), nb::arg("field"),
             nb::arg("archive"));
  module.def("may_lose", &may_lose, nb::arg("archive"), nb::arg("ignores_zero"));
  module.def("plain_chunk_fault", &plain_chunk_fault_of, nb::arg("stored"), nb::arg("chunk_bytes"));
  module.def("inspect", &inspect, nb::arg("archive"));
  module.def("inspect_frames", &inspect_frames, nb::arg("archive"), nb::arg("first"),
             nb::arg("count"));
  module.def("level_shape", &level_shape, nb::arg("archive"), nb::arg("level"));
}
