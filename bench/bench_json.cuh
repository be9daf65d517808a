/* bench_json.cuh - how benches write JSON.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_BENCH_JSON_CUH
#define SZG_BENCH_JSON_CUH

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

typedef std::vector<std::pair<const char *, std::string>> Members;

inline std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += (unsigned char)c < ' ' ? ' ' : c;
  }
  return result + "\"";
}

inline std::string number(double value, int digits = 9) {
  char text[32];
  snprintf(text, sizeof text, "%.*g", digits, std::isfinite(value) ? value : 0.0);
  return text;
}

inline std::string number(uint64_t value) { return std::to_string(value); }
inline std::string number(int value) { return std::to_string(value); }
inline std::string truth(bool value) { return value ? "true" : "false"; }

inline std::string hexadecimal(uint64_t value) {
  char text[20];
  snprintf(text, sizeof text, "\"%016llx\"", (unsigned long long)value);
  return text;
}

inline std::string array(const std::vector<std::string> &items) {
  std::string text = "[";
  for (const std::string &item : items) text += (text.size() > 1 ? ", " : "") + item;
  return text + "]";
}

inline std::string object(const Members &members) {
  std::string text = "{";
  for (const auto &member : members)
    text += (text.size() > 1 ? ", " : "") + quoted(member.first) + ": " + member.second;
  return text + "}";
}

} // namespace

#endif
