/* settings.cpp - the parameters of the ADIOS2 operator, as users write them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "settings.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

#include "../szgpu/choices.h"
#include "../szgpu/nearest.h"
#include "../szgpu/values.h"

namespace {

[[noreturn]] void refuse(const std::string &sentence) {
  throw std::invalid_argument("szgpu: " + sentence);
}

[[noreturn]] void refuse(const std::string &name, const std::string &value,
                         const std::string &sentence) {
  refuse(name + " " + value + " " + sentence);
}

int choose(const choice *choices, const std::string &name, const std::string &value) {
  char sentence[CHOICE_SENTENCE_CHARS];
  int chosen = 0;
  if (!choice_find(choices, value.c_str(), &chosen, sentence)) refuse(name, value, sentence);
  return chosen;
}

int read_number(const std::string &name, const std::string &value, uint64_t least, uint64_t most) {
  uint64_t number = 0;
  if (!read_count(value.c_str(), &number) || number < least || number > most)
    refuse(name, value,
           "is not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return int(number);
}

void read_bound(Settings &settings, const std::string &value) {
  double &bound = settings.params.bound;
  if (!read_real(value.c_str(), &bound) || !std::isfinite(bound) || bound <= 0)
    refuse("bound", value, "is not a finite number above zero");
  settings.has_bound = true;
}

/* Numbers with commas between them. */
void read_fills(szgpu_params &params, const std::string &value) {
  for (size_t at = 0; at <= value.size();) {
    size_t const comma = std::min(value.find(',', at), value.size());
    double fill = 0;
    if (!read_real(value.substr(at, comma - at).c_str(), &fill))
      refuse("fill", value, "is not a list of numbers, such as -9999 or nan,1e20");
    if (!params.has_fill) {
      params.has_fill = 1;
      params.fill = fill;
    } else if (params.more_fill_count < SZGPU_MOST_MORE_FILLS) {
      params.more_fills[params.more_fill_count++] = fill;
    } else {
      refuse("fill", value, "has more than four values; leave some out");
    }
    at = comma + 1;
  }
}

struct Parameter {
  const char *name;
  void (*read)(Settings &settings, const std::string &value);
};

const Parameter known[] = {
    {"mode",
     [](Settings &settings, const std::string &value) {
       settings.params.mode = szgpu_mode(choose(choices_of_mode, "mode", value));
       settings.has_mode = true;
     }},
    {"bound", read_bound},
    {"predictor",
     [](Settings &settings, const std::string &value) {
       settings.params.predictor =
           szgpu_predictor(choose(choices_of_predictor, "predictor", value));
     }},
    {"layout",
     [](Settings &settings, const std::string &value) {
       settings.params.layout = szgpu_layout(choose(choices_of_layout, "layout", value));
     }},
    {"zstd",
     [](Settings &settings, const std::string &value) {
       settings.params.zstd_level = read_number("zstd", value, 0, 19);
     }},
    {"fill",
     [](Settings &settings, const std::string &value) { read_fills(settings.params, value); }},
    {"threads",
     [](Settings &settings, const std::string &value) {
       settings.options.threads = read_number("threads", value, 1, SZGPU_MAX_THREADS);
     }},
    {"backend",
     [](Settings &settings, const std::string &value) {
       settings.options.backend = szgpu_backend(choose(choices_of_backend, "backend", value));
       if (settings.options.backend == SZGPU_BACKEND_CUDA && !szgpu_has_cuda())
         refuse("backend cuda is not in this build");
     }},
    {"device",
     [](Settings &settings, const std::string &value) {
       settings.options.device = read_number("device", value, 0, 1023);
     }},
    {"memory_limit",
     [](Settings &settings, const std::string &value) {
       if (!read_size(value.c_str(), &settings.options.memory_limit))
         refuse("memory_limit", value, "is not a size, such as 500M or 4G");
     }},
};

const char *const of_adios2[] = {"pluginname", "pluginlibrary", "verbose"};

void read_parameter(Settings &settings, const std::string &name, const std::string &value) {
  std::string names;
  nearest meant = {name.c_str(), nullptr, 0};
  for (const char *other : of_adios2)
    if (name == other) return;
  for (const Parameter &parameter : known) {
    if (name == parameter.name) return parameter.read(settings, value);
    nearest_offer(&meant, parameter.name);
    names += (names.empty() ? "" : " ") + std::string(parameter.name);
  }
  char sentence[CHOICE_SENTENCE_CHARS];
  choice_refusal(&meant, names.c_str(), sentence);
  refuse("parameter", name, sentence);
}

void read_variable(Settings &settings, const std::string &variable, const std::string &name) {
  const char *const value = std::getenv(variable.c_str());
  if (!value || !*value) return;
  try {
    read_parameter(settings, name, value);
  } catch (const std::invalid_argument &fault) {
    throw std::invalid_argument(fault.what() + (" (" + variable + ")"));
  }
}

} // namespace

Settings read_settings(const std::map<std::string, std::string> &parameters) {
  Settings settings;
  settings.options.backend = SZGPU_BACKEND_CPU;
  settings.options.threads = 1;
  read_variable(settings, "SZGPU_ADIOS2_THREADS", "threads");
  read_variable(settings, "SZGPU_ADIOS2_MEMORY_LIMIT", "memory_limit");
  for (const auto &parameter : parameters)
    read_parameter(settings, parameter.first, parameter.second);
  return settings;
}

void require_bound(const Settings &settings) {
  bool const is_lossless = settings.has_mode && settings.params.mode == SZGPU_MODE_LOSSLESS;
  if (!settings.has_mode)
    refuse("the parameter mode is missing; give abs, rel, psnr or pwrel with a bound, or lossless");
  if (is_lossless && settings.has_bound) refuse("mode lossless takes no bound; leave bound out");
  if (!is_lossless && !settings.has_bound)
    refuse("the parameter bound is missing; mode lossless alone needs none");
}
