/* adios2_program.cpp - a program in C++ that writes and reads by ADIOS2 through the operator, and
 * calls the operator itself with what no ADIOS2 should pass.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * usage: adios2_program PLUGIN FILE.bp; ADIOS2_PLUGIN_PATH has the folder of PLUGIN
 */
#include <adios2.h>
#include <adios2/plugin/PluginOperatorInterface.h>
#include <dlfcn.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

using adios2::DataType;
using adios2::Dims;
using adios2::Params;

#define CHECK(condition)                                                   \
  do {                                                                     \
    if (!(condition)) {                                                    \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

namespace {

size_t const kRows = 60, kColumns = 50, kCount = kRows * kColumns;

template <class T>
std::vector<T> waves(size_t step) {
  std::vector<T> values(kCount);
  for (size_t i = 0; i < kCount; i++)
    values[i] = T(50 + 40 * std::sin(0.01 * double(i) + double(step)));
  return values;
}

Params within(const char *bound) { return {{"mode", "abs"}, {"bound", bound}}; }

Params plugin_within(const char *bound) {
  return {{"PluginName", "szgpu"},
          {"PluginLibrary", "adios2_szgpu"},
          {"mode", "abs"},
          {"bound", bound}};
}

template <class T>
double distance(const T &a, const T &b) {
  return a < b ? double(b - a) : double(a - b);
}
template <class T>
double distance(const std::complex<T> &a, const std::complex<T> &b) {
  return double(std::abs(a - b));
}

/* Three steps of two blocks, by deferred and immediate calls; a box across them is read. */
template <class T>
void round_trip(adios2::ADIOS &adios, const std::string &file, const std::string &name,
                double bound) {
  adios2::IO out = adios.DeclareIO("out" + name), in = adios.DeclareIO("in" + name);
  auto written = out.DefineVariable<T>(name, {kRows, kColumns}, {0, 0}, {kRows, kColumns});
  written.AddOperation("plugin", plugin_within(bound > 1 ? "1.5" : "0.01"));
  adios2::Engine writer = out.Open(file, adios2::Mode::Write);
  for (size_t step = 0; step < 3; step++) {
    std::vector<T> const values = waves<T>(step);
    writer.BeginStep();
    for (size_t row : {size_t(0), size_t(20)}) {
      written.SetSelection({{row, 0}, {row ? 40u : 20u, kColumns}});
      writer.Put(written, values.data() + row * kColumns,
                 step == 1 ? adios2::Mode::Sync : adios2::Mode::Deferred);
    }
    writer.EndStep();
  }
  writer.Close();
  adios2::Engine reader = in.Open(file, adios2::Mode::Read);
  for (size_t step = 0; reader.BeginStep() == adios2::StepStatus::OK; step++) {
    std::vector<T> const values = waves<T>(step);
    std::vector<T> box;
    auto read = in.InquireVariable<T>(name);
    read.SetSelection({{15, 7}, {12, 30}});
    reader.Get(read, box, adios2::Mode::Sync);
    CHECK(box.size() == 12 * 30);
    for (size_t i = 0; i < box.size(); i++)
      CHECK(distance(box[i], values[(15 + i / 30) * kColumns + 7 + i % 30]) <= bound);
    reader.EndStep();
  }
  reader.Close();
}

/* The first Put says what is wrong, and the program goes on. */
void refuses_by_an_exception(adios2::ADIOS &adios, const std::string &file) {
  adios2::IO out = adios.DeclareIO("bad");
  auto variable = out.DefineVariable<float>("v", {kCount}, {0}, {kCount});
  variable.AddOperation("plugin", plugin_within("zero"));
  adios2::Engine writer = out.Open(file, adios2::Mode::Write);
  std::vector<float> const values = waves<float>(0);
  std::string said;
  writer.BeginStep();
  try {
    writer.Put(variable, values.data(), adios2::Mode::Sync);
  } catch (const std::exception &error) {
    said = error.what();
  }
  CHECK(said == "szgpu: bound zero is not a finite number above zero");
}

/* ---- the interface itself ---- */

using Interface = adios2::plugin::PluginOperatorInterface;
Interface *(*create)(const Params &);
void (*destroy)(Interface *);

struct Made {
  explicit Made(const Params &with) : made(create(with)) {}
  ~Made() { destroy(made); }
  Interface *operator->() const { return made; }
  Interface *made;
};

/* Bytes behind `values` that must stay. */
size_t const kGuard = 64;

bool is_refused(const std::vector<char> &stored, size_t stored_bytes, size_t value_bytes) {
  std::vector<char> values(value_bytes + kGuard, 'g');
  std::vector<char> const guard(kGuard, 'g');
  Made const made({});
  bool is_refused = false;
  try {
    made->InverseOperate(stored.data(), stored_bytes, values.data());
  } catch (const std::exception &error) {
    is_refused = std::strncmp(error.what(), "szgpu: block: ", 14) == 0;
  }
  CHECK(std::memcmp(values.data() + value_bytes, guard.data(), kGuard) == 0);
  return is_refused;
}

/* Every truncation and a flip of every byte. */
void refuses_damage(const Params &with, const void *values, size_t byte_count, DataType type) {
  Made const made(with);
  size_t const width = type == DataType::Float ? 4 : 8, count = byte_count / width;
  size_t const room = made->GetEstimatedSize(count, width, 1, &count);
  std::vector<char> stored(room + kGuard, 'g');
  size_t const used =
      made->Operate(static_cast<const char *>(values), {0}, {count}, type, stored.data());
  CHECK(used <= room && stored[room] == 'g');
  for (size_t cut = 0; cut < used; cut++) CHECK(is_refused(stored, cut, byte_count));
  for (size_t place = 0; place < used; place++) {
    stored[place] ^= 1;
    CHECK(is_refused(stored, used, byte_count));
    stored[place] ^= 1;
  }
  CHECK(is_refused(stored, size_t(0) - 5, byte_count)); /* as ADIOS2 computes it for short blocks */
  CHECK(!is_refused(stored, used, byte_count));
}

void refuses_text() {
  Made const made(within("0.1"));
  char stored[256];
  std::string said;
  CHECK(!made->IsDataTypeValid(DataType::String) && !made->IsDataTypeValid(DataType::Struct) &&
        !made->IsDataTypeValid(DataType::None) && made->IsDataTypeValid(DataType::LongDouble));
  try {
    made->Operate("text", {}, {1}, DataType::String, stored);
  } catch (const std::exception &error) {
    said = error.what();
  }
  CHECK(said.find("szgpu: text and records cannot be compressed") == 0);
}

} // namespace

int main(int argc, char **argv) {
  CHECK(argc == 3);
  void *const plugin = dlopen(argv[1], RTLD_NOW);
  CHECK(plugin);
  *reinterpret_cast<void **>(&create) = dlsym(plugin, "OperatorCreate");
  *reinterpret_cast<void **>(&destroy) = dlsym(plugin, "OperatorDestroy");
  CHECK(create && destroy);
  std::vector<float> const smooth = waves<float>(0);
  std::vector<double> noise(40);
  for (double &value : noise) value = std::rand() * 1e-300 + std::rand();
  refuses_damage(within("0.01"), smooth.data(), 4 * kCount, DataType::Float);
  refuses_damage({{"mode", "lossless"}}, noise.data(), 8 * noise.size(), DataType::Double);
  refuses_damage(within("0.01"), noise.data(), 0, DataType::Float);
  refuses_text();

  adios2::ADIOS adios;
  std::string const file = argv[2];
  round_trip<float>(adios, file, "float", 0.01);
  round_trip<double>(adios, file, "double", 0.01);
  round_trip<int8_t>(adios, file, "int8", 1.5);
  round_trip<uint8_t>(adios, file, "uint8", 1.5);
  round_trip<int16_t>(adios, file, "int16", 1.5);
  round_trip<uint16_t>(adios, file, "uint16", 1.5);
  round_trip<int32_t>(adios, file, "int32", 1.5);
  round_trip<uint32_t>(adios, file, "uint32", 0);
  round_trip<int64_t>(adios, file, "int64", 0);
  round_trip<uint64_t>(adios, file, "uint64", 0);
  round_trip<char>(adios, file, "char", 0);
  round_trip<long double>(adios, file, "longdouble", 0);
  round_trip<std::complex<float>>(adios, file, "complex64", 0);
  round_trip<std::complex<double>>(adios, file, "complex128", 0);
  refuses_by_an_exception(adios, file);
  std::puts("adios2_program: all held");
  return 0;
}
