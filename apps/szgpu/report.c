/* report.c - reports each failure in one sentence with an exit code; words shared by reports.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "report.h"

#include "memory.h"
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

struct answer {
  enum exit_code code;
  const char *remedy;
};

/* What each status means to a user of the command line. */
static const struct answer answers[] = {
    [SZGPU_OK] = {CODE_OK, "nothing to do"},
    [SZGPU_BAD_ARGUMENT] = {CODE_USAGE, "see szgpu --help"},
    [SZGPU_BAD_SHAPE] = {CODE_USAGE, "give other dims with -d"},
    [SZGPU_BAD_BOUND] = {CODE_USAGE, "give -e a finite number above zero"},
    [SZGPU_UNSUPPORTED] = {CODE_RESOURCE, "use a build of szgpu that supports it"},
    [SZGPU_OUT_OF_MEMORY] =
        {CODE_RESOURCE, "free some memory, or let -z and -x work frame by frame: --memory SIZE"},
    [SZGPU_CAPACITY] = {CODE_RESOURCE, "please report this; it should not happen"},
    [SZGPU_NOT_AN_ARCHIVE] = {CODE_ARCHIVE, "name a file that szgpu -z made"},
    [SZGPU_NEWER_VERSION] = {CODE_ARCHIVE, "read it with a newer szgpu"},
    [SZGPU_TRUNCATED] = {CODE_ARCHIVE, "replace it with an intact copy"},
    [SZGPU_TRAILING_BYTES] = {CODE_ARCHIVE, "copy it again, without the bytes that follow it"},
    [SZGPU_BAD_CHECKSUM] = {CODE_ARCHIVE, "replace it with an intact copy"},
    [SZGPU_BAD_DATA] = {CODE_ARCHIVE, "compress the original again"},
    [SZGPU_CANCELLED] = {CODE_USAGE, "run it again"},
    [SZGPU_NO_DEVICE] = {CODE_RESOURCE, "use -b cpu"},
    [SZGPU_DEVICE_ERROR] = {CODE_RESOURCE, "use -b cpu"},
    [SZGPU_FIELD_CHANGED] = {CODE_IO, "compress it when nothing writes to it, or a copy of it"},
    [SZGPU_MEMORY_LIMIT] = {CODE_RESOURCE, "give a larger --memory-limit"},
    [SZGPU_SOURCE_FAILED] = {CODE_IO, "read it again when nothing writes to it"},
    [SZGPU_SINK_FAILED] = {CODE_IO, "check the output and its folder"},
    [SZGPU_NOT_A_SERIES] = {CODE_ARCHIVE, "name a file that szgpu -z --append made"},
    [SZGPU_UNFINISHED] = {CODE_ARCHIVE, "the next --append replaces it"},
    [SZGPU_LOCKED] = {CODE_IO, "append again when it has finished"},
    [SZGPU_OTHER_PARAMS] = {CODE_ARCHIVE, "restore it with the params that it was made with"},
    [SZGPU_OTHER_PROCESS] = {CODE_IO, "open it in the process that uses it"},
    [SZGPU_SERIES_CHANGED] = {CODE_IO, "append again when no other program writes to it"},
};

bool status_is_of_resources(szgpu_status status) {
  return status == SZGPU_OUT_OF_MEMORY || status == SZGPU_MEMORY_LIMIT ||
         status == SZGPU_NO_DEVICE || status == SZGPU_DEVICE_ERROR;
}

static struct answer answer_to(szgpu_status status) {
  size_t const answer_count = sizeof answers / sizeof answers[0];
  if ((size_t)status < answer_count && answers[status].remedy) return answers[status];
  return (struct answer){CODE_RESOURCE, "please report this; it should not happen"};
}

struct json report_json(const struct report *report) {
  struct json json = json_begin(report->out);
  if (report->command) json_text(&json, "command", report->command);
  json_text(&json, "input", report->file);
  return json;
}

int report_failure(const struct report *report, enum exit_code code, const char *name,
                   const char *format, ...) {
  char sentence[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);

  fputs("szgpu: ", stderr);
  if (name) {
    print_name(stderr, name);
    fputs(": ", stderr);
  }
  print_name(stderr, sentence);
  fputc('\n', stderr);

  if (report->is_json && !report->is_quiet && report->file) {
    struct json json = report_json(report);
    json_text(&json, "error", sentence);
    json_count(&json, "exit_code", code);
    json_end(&json);
  }
  return (int)code;
}

int report_status(const struct report *report, const char *name, szgpu_status status,
                  const szgpu_ctx *ctx) {
  struct answer const answer = answer_to(status);
  bool const is_on_gpu =
      report->remedy_without_gpu && status_is_of_resources(status) && status != SZGPU_MEMORY_LIMIT;
  const char *detail = ctx ? szgpu_last_error(ctx) : "";
  size_t detail_chars = strlen(detail);
  while (detail_chars > 0 && detail[detail_chars - 1] == '.') detail_chars--;
  char remedy[128];
  snprintf(remedy, sizeof remedy, "%s%s",
           is_on_gpu && status == SZGPU_OUT_OF_MEMORY ? "free some memory or " : "",
           is_on_gpu ? report->remedy_without_gpu : answer.remedy);
  if (detail_chars == 0)
    return report_failure(report, answer.code, name, "%s; %s", szgpu_status_text(status), remedy);
  return report_failure(report, answer.code, name, "%s (%.*s); %s", szgpu_status_text(status),
                        (int)detail_chars, detail, remedy);
}

void report_note(const struct report *report, const szgpu_ctx *ctx, bool *is_told) {
  const char *note = szgpu_last_note(ctx);
  if (report->is_quiet || *is_told || note[0] == '\0') return;
  fputs("szgpu: note: ", stderr);
  print_name(stderr, note);
  fputc('\n', stderr);
  *is_told = true;
}

static int report_failed_call(const struct report *report, const char *name, const char *what,
                              int error_number, const char *elsewhere) {
  bool const is_full = error_number == ENOSPC || error_number == EDQUOT;
  char remedy[128] = "check the file and its folder";
  if (is_full || error_number == EFBIG)
    snprintf(remedy, sizeof remedy, "%s%s%s",
             is_full ? "free some space" : "raise the limit on file sizes", elsewhere ? " or " : "",
             elsewhere ? elsewhere : "");
  else if (error_number == ENOENT || error_number == ENOTDIR)
    strcpy(remedy, "check the name");
  else if (error_number == EACCES || error_number == EPERM)
    strcpy(remedy, "check the permissions");
  return report_failure(report, CODE_IO, name, "cannot be %s: %s; %s", what, strerror(error_number),
                        remedy);
}

int report_errno(const struct report *report, const char *name, const char *what,
                 int error_number) {
  return report_failed_call(report, name, what, error_number, report->remedy_elsewhere);
}

int report_errno_aside(const struct report *report, const char *name, const char *what,
                       int error_number) {
  return report_failed_call(report, name, what, error_number, "name another folder with TMPDIR");
}

int report_out_of_memory(const struct report *report, const char *name, const char *what,
                         uint64_t wanted_bytes) {
  if (!memory_allows(wanted_bytes))
    return report_failure(report, CODE_RESOURCE, name,
                          "would take more memory than %s: %s needs %s; give a larger %s",
                          memory_limit_option(), what, words_for_bytes(wanted_bytes).text,
                          memory_limit_option());
  return report_failure(report, CODE_RESOURCE, name, "out of memory: %s needs %s; %s", what,
                        words_for_bytes(wanted_bytes).text, answers[SZGPU_OUT_OF_MEMORY].remedy);
}

const char *shown_input(const char *name) {
  return name && strcmp(name, "-") == 0 ? "standard input" : name;
}

const char *shown_output(const char *name) {
  return name && strcmp(name, "-") == 0 ? "standard output" : name;
}

struct words words_for_bytes(uint64_t byte_count) {
  static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  struct words words;
  if (byte_count < 1000) {
    snprintf(words.text, sizeof words.text, "%" PRIu64 " B", byte_count);
    return words;
  }
  double amount = (double)byte_count / 1e3;
  size_t unit = 0;
  while (amount >= 999.995) { /* it would print as 1000.00 */
    amount /= 1e3;
    unit++;
  }
  snprintf(words.text, sizeof words.text, "%.2f %s", amount, units[unit]);
  return words;
}

struct words words_for_dims(const szgpu_shape *shape) {
  struct words words = {""};
  size_t used = 0;
  for (int axis = 0; axis < shape->ndim && used < sizeof words.text; axis++)
    used += (size_t)snprintf(words.text + used, sizeof words.text - used, "%s%" PRIu64,
                             axis ? "x" : "", shape->dims[axis]);
  return words;
}

const char *words_for_dtype(szgpu_dtype dtype) {
  static const char *const names[] = {"f32", "f64", "u8",  "bf16", "f16",
                                      "fp8", "i8",  "u16", "i16",  "i32"};
  return names[dtype];
}

const char *words_for_mode(szgpu_mode mode) {
  static const char *const names[] = {"rel", "abs", "psnr", "lossless", "pwrel"};
  return names[mode];
}

const char *words_for_layout(szgpu_layout layout) {
  return layout == SZGPU_LAYOUT_TILE ? "tile" : "linear";
}

const char *words_for_predictor(szgpu_predictor predictor) {
  static const char *const names[] = {"auto", "lorenzo", "interpolation"};
  return names[predictor];
}
