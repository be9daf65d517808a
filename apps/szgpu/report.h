/* report.h - reports each failure in one sentence with an exit code; words shared by reports.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZGPU_APP_REPORT_H
#define SZGPU_APP_REPORT_H

#include "json.h"
#include "szgpu.h"

#include <stdbool.h>
#include <stdio.h>

enum exit_code {
  CODE_OK = 0,
  CODE_USAGE = 1,
  CODE_IO = 2,
  CODE_ARCHIVE = 3,
  CODE_BOUND = 4,
  CODE_RESOURCE = 5
};

struct report {
  FILE *out;           /* stdout, or stderr when data go to stdout */
  const char *file;    /* as named on the command line; NULL before the first */
  const char *command; /* "compress"; NULL: none was given */
  bool is_json, is_quiet, is_verbose, is_strict;
  const char *remedy_without_gpu; /* if the command line insists on CUDA, else NULL */
  const char *remedy_elsewhere;   /* if a disk is full; NULL: the command line names no output */
};

#if defined(__GNUC__)
#define REPORT_FORMAT(format_index, first) __attribute__((format(printf, format_index, first)))
#else
#define REPORT_FORMAT(format_index, first)
#endif

/* Begins the JSON object about report->file with what all have: the command and the input. */
struct json report_json(const struct report *report);
/* Prints "szgpu: NAME: <format>" to stderr, without NAME if it is NULL; with --json and a file,
 * also an object with the same sentence to report->out. Returns code. */
int report_failure(const struct report *report, enum exit_code code, const char *name,
                   const char *format, ...) REPORT_FORMAT(4, 5);
/* Reports a library call that failed; ctx may be NULL. Returns the exit code. */
int report_status(const struct report *report, const char *name, szgpu_status status,
                  const szgpu_ctx *ctx);
/* True if the data are not at fault, but memory or the GPU. */
bool status_is_of_resources(szgpu_status status);
/* Prints the note of a call that succeeded, "szgpu: note: ...", unless *is_told; then sets that. */
void report_note(const struct report *report, const szgpu_ctx *ctx, bool *is_told);
/* Reports "cannot be WHAT: strerror; remedy" with CODE_IO. */
int report_errno(const struct report *report, const char *name, const char *what, int error_number);
/* The same of a temporary file. */
int report_errno_aside(const struct report *report, const char *name, const char *what,
                       int error_number);
int report_out_of_memory(const struct report *report, const char *name, const char *what,
                         uint64_t wanted_bytes);

/* Replaces "-" by "standard input" or "standard output"; NULL stays NULL. */
const char *shown_input(const char *name);
const char *shown_output(const char *name);

struct words {
  char text[128];
};
struct words words_for_bytes(uint64_t byte_count);          /* "4.19 MB" */
struct words words_for_dims(const szgpu_shape *shape);      /* "100x500x500" */
const char *words_for_dtype(szgpu_dtype dtype);             /* "f32" */
const char *words_for_mode(szgpu_mode mode);                /* "rel" */
const char *words_for_layout(szgpu_layout layout);          /* "tile" */
const char *words_for_predictor(szgpu_predictor predictor); /* "auto" */

#endif
