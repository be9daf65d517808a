/* option_names.c - the options by their names, and which commands take them.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "option_names.h"

#include <stddef.h>
#include <string.h>

#include "nearest.h"

enum {
  EVERY_COMMAND = COMMAND_COMPRESS | COMMAND_RESTORE | COMMAND_LIST | COMMAND_TEST | COMMAND_SWEEP |
                  COMMAND_REPACK | COMMAND_UNPACK,
  ANY_COMMAND = EVERY_COMMAND | COMMAND_H5_ARGS, /* also the one without files */
  OF_FIELDS = COMMAND_COMPRESS | COMMAND_SWEEP,
  OF_PARAMS = OF_FIELDS | COMMAND_H5_ARGS | COMMAND_REPACK,
  OF_WHOLE_FILES = COMMAND_REPACK | COMMAND_UNPACK,
  OF_DEVICES = EVERY_COMMAND & ~OF_WHOLE_FILES
};

const char option_letters[] = ":zxle:m:t:d:b:j:o:fqvVh";

const struct option option_long_names[] = {
    {"verify", no_argument, NULL, 'V'},
    {"frame", required_argument, NULL, OPTION_FRAME},
    {"zstd", optional_argument, NULL, OPTION_ZSTD},
    {"fill", required_argument, NULL, OPTION_FILL},
    {"greatest", required_argument, NULL, OPTION_GREATEST},
    {"decoder", required_argument, NULL, OPTION_DECODER},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"layout", required_argument, NULL, OPTION_LAYOUT},
    {"predictor", required_argument, NULL, OPTION_PREDICTOR},
    {"no-gap", no_argument, NULL, OPTION_NO_GAP},
    {"h5-args", no_argument, NULL, OPTION_H5_ARGS},
    {"test", no_argument, NULL, OPTION_TEST},
    {"sweep", required_argument, NULL, OPTION_SWEEP},
    {"repack", no_argument, NULL, OPTION_REPACK},
    {"unpack", no_argument, NULL, OPTION_UNPACK},
    {"var", required_argument, NULL, OPTION_VAR},
    {"bounds", required_argument, NULL, OPTION_BOUNDS},
    {"like", required_argument, NULL, OPTION_LIKE},
    {"chunks", required_argument, NULL, OPTION_CHUNKS},
    {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
    {"target-ratio", required_argument, NULL, OPTION_TARGET_RATIO},
    {"level", required_argument, NULL, OPTION_LEVEL},
    {"append", required_argument, NULL, OPTION_APPEND},
    {"step", required_argument, NULL, OPTION_STEP},
    {"time", required_argument, NULL, OPTION_TIME},
    {"slab", required_argument, NULL, OPTION_SLAB},
    {"region", required_argument, NULL, OPTION_REGION},
    {"compare", required_argument, NULL, OPTION_COMPARE},
    {"memory-limit", required_argument, NULL, OPTION_MEMORY_LIMIT},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"json", no_argument, NULL, OPTION_JSON},
    {"progress", required_argument, NULL, OPTION_PROGRESS},
    {"strict", no_argument, NULL, OPTION_STRICT},
    {"named", no_argument, NULL, OPTION_NAMED},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

const struct option_use option_uses[] = {
    {'e', "-e", COMMAND_COMPRESS | COMMAND_H5_ARGS | COMMAND_REPACK},
    {'m', "-m", OF_PARAMS},
    {'t', "-t", OF_FIELDS},
    {'d', "-d", OF_FIELDS},
    {'V', "--verify", COMMAND_COMPRESS | OF_WHOLE_FILES},
    {OPTION_FRAME, "--frame", OF_FIELDS},
    {OPTION_ZSTD, "--zstd", OF_PARAMS},
    {OPTION_FILL, "--fill", OF_FIELDS | COMMAND_H5_ARGS},
    {OPTION_GREATEST, "--greatest", OF_FIELDS},
    {OPTION_LAYOUT, "--layout", OF_PARAMS},
    {OPTION_PREDICTOR, "--predictor", OF_PARAMS},
    {OPTION_NO_GAP, "--no-gap", OF_FIELDS},
    {OPTION_TARGET_RATIO, "--target-ratio", COMMAND_COMPRESS},
    {OPTION_STRICT, "--strict", OF_FIELDS | COMMAND_H5_ARGS},
    {OPTION_NAMED, "--named", COMMAND_H5_ARGS},
    {OPTION_LEVEL, "--level", COMMAND_RESTORE},
    {OPTION_APPEND, "--append", COMMAND_COMPRESS},
    {OPTION_STEP, "--step", COMMAND_RESTORE | COMMAND_LIST | COMMAND_TEST},
    {OPTION_TIME, "--time", COMMAND_COMPRESS},
    {OPTION_SLAB, "--slab", COMMAND_RESTORE},
    {OPTION_REGION, "--region", COMMAND_RESTORE},
    {OPTION_COMPARE, "--compare", COMMAND_RESTORE},
    {'o', "-o", COMMAND_COMPRESS | COMMAND_RESTORE | OF_WHOLE_FILES},
    {'b', "-b", OF_DEVICES},
    {'j', "-j", EVERY_COMMAND},
    {'f', "-f", COMMAND_COMPRESS | COMMAND_RESTORE | COMMAND_LIST | OF_WHOLE_FILES},
    {'q', "-q", EVERY_COMMAND},
    {'v', "-v", EVERY_COMMAND},
    {OPTION_DEVICE, "--device", OF_DEVICES},
    {OPTION_DECODER, "--decoder", OF_FIELDS | COMMAND_RESTORE | COMMAND_TEST},
    {OPTION_MEMORY_LIMIT, "--memory-limit", EVERY_COMMAND},
    {OPTION_MEMORY, "--memory", COMMAND_COMPRESS | COMMAND_RESTORE | OF_WHOLE_FILES},
    {OPTION_JSON, "--json", EVERY_COMMAND},
    {OPTION_PROGRESS, "--progress", OF_FIELDS | COMMAND_RESTORE | COMMAND_TEST | OF_WHOLE_FILES},
    {OPTION_VAR, "--var", COMMAND_REPACK},
    {OPTION_BOUNDS, "--bounds", COMMAND_REPACK},
    {OPTION_LIKE, "--like", COMMAND_REPACK},
    {OPTION_CHUNKS, "--chunks", COMMAND_REPACK},
    {OPTION_DRY_RUN, "--dry-run", COMMAND_REPACK},
    {'z', "-z", ANY_COMMAND},
    {'x', "-x", ANY_COMMAND},
    {'l', "-l", ANY_COMMAND},
    {OPTION_TEST, "--test", ANY_COMMAND},
    {OPTION_SWEEP, "--sweep", ANY_COMMAND},
    {OPTION_REPACK, "--repack", ANY_COMMAND},
    {OPTION_UNPACK, "--unpack", ANY_COMMAND},
    {OPTION_H5_ARGS, "--h5-args", ANY_COMMAND},
    {OPTION_HELP, "--help", ANY_COMMAND},
    {OPTION_VERSION, "--version", ANY_COMMAND},
    {0, NULL, 0},
};

static const struct {
  enum command command;
  const char *option, *word;
} commands[] = {{COMMAND_COMPRESS, "-z", "compress"},   {COMMAND_RESTORE, "-x", "restore"},
                {COMMAND_LIST, "-l", "list"},           {COMMAND_TEST, "--test", "test"},
                {COMMAND_SWEEP, "--sweep", "sweep"},    {COMMAND_H5_ARGS, "--h5-args", "h5-args"},
                {COMMAND_REPACK, "--repack", "repack"}, {COMMAND_UNPACK, "--unpack", "unpack"}};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

const char *option_of_command(enum command command) {
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (commands[i].command == command) return commands[i].option;
  return NULL;
}

const char *word_of_command(enum command command) {
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (commands[i].command == command) return commands[i].word;
  return NULL;
}

const char *option_nearest(const char *wrong) {
  struct nearest nearest = {.wrong = wrong};
  for (const struct option_use *use = option_uses; use->option; use++)
    nearest_offer(&nearest, use->shown);
  return nearest.name;
}

const char *option_with_one_dash(char *const *words, int count) {
  for (int i = 0; i < count && strcmp(words[i], "--") != 0; i++) {
    if (words[i][0] != '-' || words[i][1] == '-') continue;
    size_t const chars = strcspn(words[i] + 1, "=");
    for (const struct option *option = option_long_names; option->name; option++)
      if (chars == strlen(option->name) && strncmp(words[i] + 1, option->name, chars) == 0)
        return words[i];
  }
  return NULL;
}
