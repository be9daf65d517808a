/* settings.h - the parameters of the ADIOS2 operator, as users write them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <map>
#include <string>

#include "szgpu.h"

struct Settings {
  szgpu_params params = SZGPU_PARAMS_DEFAULTS; /* for types that a bound applies to */
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  bool has_mode = false, has_bound = false;
};

/* Reads the parameters, after the environment variables SZGPU_ADIOS2_THREADS and
 * SZGPU_ADIOS2_MEMORY_LIMIT, which serve readers: they pass no parameters. Throws
 * std::invalid_argument with a sentence if a value is wrong or a name unknown. */
Settings read_settings(const std::map<std::string, std::string> &parameters);

/* Throws if these do not say how to compress. They need not when a file is only read. */
void require_bound(const Settings &settings);

#endif
