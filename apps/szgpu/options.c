/* options.c - reads the command line into one struct.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _DEFAULT_SOURCE
#include "options.h"

#include "decoders.h"
#include "h5_args.h"
#include "habits.h"
#include "hdf5_dataset.h"
#include "help.h"
#include "links.h"
#include "option_names.h"
#include "option_values.h"
#include "report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refuse_name(struct options *options, const char *name) {
  char wrong[64], sentence[160] = "is not an option; see szgpu --help";
  snprintf(wrong, sizeof wrong, "%.*s", (int)strcspn(name, "="), name);
  const char *const habit = habit_of_option(wrong);
  const char *const meant = name[1] && !habit ? option_nearest(wrong) : NULL;
  if (habit) snprintf(sentence, sizeof sentence, "is not an option; %s", habit);
  if (meant)
    snprintf(sentence, sizeof sentence, "is not an option (did you mean %s?); see szgpu --help",
             meant);
  return options_refuse(options, name, NULL, sentence);
}

static bool refuse_unknown(struct options *options, int answer, char **argv) {
  char short_name[3] = {'-', (char)optopt, '\0'};
  bool const is_short = optopt > 0 && optopt <= CHAR_MAX;
  const char *name = argv[optind - 1];
  if (is_short && !(optopt == 'V' && strncmp(name, "--", 2) == 0)) name = short_name;
  if (answer == ':') return options_refuse(options, name, NULL, "needs a value; see szgpu --help");
  if (optopt != 0 && strncmp(name, "--", 2) == 0)
    return options_refuse(options, name, NULL, "takes no value; leave the value out");
  return refuse_name(options, name);
}

/* Why --decoder does not read what these options write; NULL: it does. */
static const char *refusal_to_verify(const struct options *options) {
  szgpu_info const info = {
      .struct_bytes = sizeof info,
      .mode = options->params.mode,
      .layout = options->params.layout,
      .has_gaps = options->params.layout == SZGPU_LAYOUT_LINEAR && !options->params.without_gaps};
  return szgpu_decoder_refusal(options->context.decoder, &info);
}

static bool check_decoder(struct options *options, bool is_given) {
  szgpu_decoder const decoder = options->context.decoder;
  szgpu_backend const backend = options->context.backend;
  const char *name = szgpu_decoder_name(decoder);
  if (is_given && options->command == COMMAND_COMPRESS && !options->is_verified)
    return options_refuse(options, "--decoder", NULL,
                          "is used with -z only for --verify; add --verify or leave it out");
  if (backend == SZGPU_BACKEND_CPU && !szgpu_decoder_runs_on(decoder, backend))
    return options_refuse(options, "--decoder", name,
                          "needs CUDA, not -b cpu; leave one of the two out");
  if (backend == SZGPU_BACKEND_CUDA && !szgpu_decoder_runs_on(decoder, backend))
    return options_refuse(options, "--decoder", name,
                          "is for the CPU, not for -b cuda; leave one of the two out");
  const char *refusal = options->is_verified ? refusal_to_verify(options) : NULL;
  if (!refusal) return true;
  char sentence[160];
  snprintf(sentence, sizeof sentence,
           "cannot read back for --verify what %s; leave one of the two out", refusal);
  return options_refuse(options, "--decoder", name, sentence);
}

/* One of -e, --target-ratio and the bounds of a sweep. */
static bool check_bound(struct options *options) {
  bool const is_searched = options->target_ratio > 0;
  if (is_searched && options->has_bound)
    return options_refuse(options, "-e", NULL,
                          "cannot be used with --target-ratio; leave one of them out");
  if (is_searched && options->params.mode == SZGPU_MODE_PSNR)
    return options_refuse(options, "--target-ratio", NULL,
                          "finds a bound for -m rel or -m abs; leave -m psnr out");
  if (is_searched && options->params.mode == SZGPU_MODE_PWREL)
    return options_refuse(options, "--target-ratio", NULL,
                          "finds a bound for -m rel or -m abs; leave -m pwrel out");
  bool const has_rules = options->bounds.count > 0 || options->bounds_file || options->like;
  return is_searched || options->has_bound || options->command == COMMAND_SWEEP || has_rules ||
         options_refuse(options, "no bound", NULL, "was given; give one, as in -e 1e-4");
}

/* Checks what only lossless modes take, and what only lossy ones do. */
static bool check_mode(struct options *options) {
  const szgpu_params *params = &options->params;
  if (params->without_gaps && params->layout != SZGPU_LAYOUT_LINEAR)
    return options_refuse(options, "--no-gap", NULL,
                          "is for the linear layout; add --layout linear or leave it out");
  if (params->greatest > 0.0 && params->mode != SZGPU_MODE_ABS)
    return options_refuse(options, "--greatest", NULL, "is for absolute bounds; add -m abs");
  if (params->predictor == SZGPU_PREDICTOR_INTERPOLATION && params->layout != SZGPU_LAYOUT_TILE)
    return options_refuse(options, "--predictor", "interpolation",
                          "cannot be used with --layout linear; leave one of them out");
  if (params->mode != SZGPU_MODE_LOSSLESS) {
    if (options->has_dtype && options->shape.dtype == SZGPU_FP8)
      return options_refuse(options, "-t", words_for_dtype(options->shape.dtype),
                            "can only be compressed losslessly; add -m lossless");
    if (options->has_dtype && options->shape.dtype > SZGPU_F64 && params->mode == SZGPU_MODE_PWREL)
      return options_refuse(options, "-t", words_for_dtype(options->shape.dtype),
                            "cannot have a bound of each value, which is for f32 and f64; "
                            "choose another -m");
    return check_bound(options);
  }
  if (options->has_bound)
    return options_refuse(options, "-e", NULL,
                          "cannot be used with -m lossless; leave one of them out");
  if (options->command == COMMAND_SWEEP || options->target_ratio > 0)
    return options_refuse(options, options->target_ratio > 0 ? "--target-ratio" : "--sweep", NULL,
                          "cannot be used with -m lossless; leave one of them out");
  if (options->fills.count > 0)
    return options_refuse(options, "--fill", NULL,
                          "cannot be used with -m lossless; leave one of them out");
  if (params->predictor != SZGPU_PREDICTOR_AUTO)
    return options_refuse(options, "--predictor", NULL,
                          "cannot be used with -m lossless; leave one of them out");
  return true;
}

/* Several GPUs work on a frame each, and frames do not depend on how many there are. */
static bool check_devices(struct options *options) {
  const char *const list = options->device_list;
  if (!list) return true;
  if (options->command != COMMAND_COMPRESS && options->command != COMMAND_RESTORE)
    return options_refuse(options, "--device", list, "is for -z and -x; name one GPU");
  if (options->context.backend == SZGPU_BACKEND_CPU)
    return options_refuse(options, "--device", list,
                          "cannot be used with -b cpu; leave one of them out");
  if (!szgpu_decoder_runs_on(options->context.decoder, SZGPU_BACKEND_CUDA))
    return options_refuse(options, "--decoder", szgpu_decoder_name(options->context.decoder),
                          "is for the CPU, not for --device with several GPUs; leave one of the "
                          "two out");
  if (options->command == COMMAND_COMPRESS && !options->memory && !options->params.frame_rows)
    return options_refuse(options, "--device", list,
                          "works frame by frame; add --frame or --memory, which say how large "
                          "frames are");
  options->context.backend = SZGPU_BACKEND_CUDA;
  return true;
}

/* What needs the whole field, or little of it anyway. */
static bool check_in_frames(struct options *options) {
  const char *other = options->original               ? "--compare"
                      : options->has_slab             ? "--slab"
                      : options->has_region           ? "--region"
                      : options->has_level            ? "--level"
                      : options->target_ratio > 0     ? "--target-ratio"
                      : options->context.memory_limit ? "--memory-limit"
                                                      : NULL;
  const char *const in_frames = options_frame_by_frame(options);
  char sentence[128];
  if (!in_frames || !other) return true;
  snprintf(sentence, sizeof sentence, "cannot be used with %s; leave one of them out", other);
  return options_refuse(options, in_frames, options->memory ? NULL : options->device_list,
                        sentence);
}

static bool check_series(struct options *options) {
  if (options->series && options->output)
    return options_refuse(options, "-o", NULL,
                          "cannot be used with --append; leave one of them out");
  if (options->series && strcmp(options->series, "-") == 0)
    return options_refuse(options, "--append", "-", "is not a file; name the series");
  if (options->has_time && !options->series)
    return options_refuse(options, "--time", NULL,
                          "belongs to a step of a series; add --append or leave it out");
  if (options->has_time && options->file_count > 1)
    return options_refuse(options, "--time", NULL, "is for one step; append the files one by one");
  return true;
}

/* Names that stand for standard input and output, such as /dev/stdin and /proc/self/fd/1, are "-"
 * from here on. */
static bool check_standard_streams(struct options *options) {
  static char standard[] = "-";
  for (int i = 0; i < options->file_count; i++)
    if (descriptor_of_name(options->files[i]) == STDIN_FILENO) options->files[i] = standard;
  if (options->original && descriptor_of_name(options->original) == STDIN_FILENO)
    options->original = standard;
  const char **const made = options->series ? &options->series : &options->output;
  int const descriptor = *made ? descriptor_of_name(*made) : -1;
  if (descriptor == STDERR_FILENO)
    return options_refuse(options, options->series ? "--append" : "-o", *made,
                          "is for messages, which would mix with the data; name another output");
  if (descriptor == STDOUT_FILENO) *made = standard;
  return true;
}

static bool is_of_whole_files(const struct options *options) {
  return options->command == COMMAND_REPACK || options->command == COMMAND_UNPACK;
}

/* IN OUT, or IN with -o OUT; with --dry-run nothing is written. */
static bool check_whole_files(struct options *options) {
  bool const packs = options->command == COMMAND_REPACK;
  const char *const name = option_of_command(options->command);
  int const count = options->file_count;
  if (count == 2 && !options->output)
    options->output = options->files[1];
  else if (count != 1 || !(options->output || options->is_dry))
    return options_refuse(
        options, name, NULL,
        packs ? "takes two files; give it as in --repack -m abs -e 0.01 IN.nc OUT.nc"
              : "takes two files; give it as in --unpack IN.nc OUT.nc");
  options->file_count = 1;
  bool const has_stdin = strcmp(options->files[0], "-") == 0;
  if (has_stdin || (options->output && strcmp(options->output, "-") == 0))
    return options_refuse(options, "-", NULL,
                          packs ? "cannot be used with --repack; name files"
                                : "cannot be used with --unpack; name files");
  options->context.backend = SZGPU_BACKEND_CPU;
  return !packs || check_mode(options);
}

/* The words of the command line, for those who read a file's history. */
static char *join_words(int argc, char *const *argv) {
  size_t room = sizeof "szgpu";
  for (int i = 1; i < argc; i++) room += strlen(argv[i]) + 1;
  char *const line = malloc(room);
  if (!line) return NULL;
  strcpy(line, "szgpu");
  for (int i = 1; i < argc; i++) strcat(strcat(line, " "), argv[i]);
  return line;
}

static bool refuse_without_mode(struct options *options) {
  char *const first = options->file_count > 0 ? options->files[0] : NULL;
  const char *const habit = first && access(first, F_OK) != 0 ? habit_of_word(first) : NULL;
  if (!habit)
    return options_refuse(options, "no mode", NULL,
                          "was given; use -z, -x, -l or --test, or see szgpu --help");
  options->files++; /* it is none */
  options->file_count--;
  return options_refuse(options, first, NULL, habit);
}

static bool check_together(struct options *options, const bool *is_given) {
  if (options->command == COMMAND_NONE) return refuse_without_mode(options);
  for (const struct option_use *use = option_uses; use->option; use++)
    if (is_given[use->option] && !(use->commands & options->command)) {
      char sentence[128];
      snprintf(sentence, sizeof sentence, "cannot be used with %s; leave it out%s",
               option_of_command(options->command),
               use->option == 'V' && options->command != COMMAND_H5_ARGS
                   ? " or use --compare with -x"
                   : "");
      return options_refuse(options, use->shown, NULL, sentence);
    }
  if (options->command == COMMAND_H5_ARGS)
    return check_mode(options) &&
           (options->file_count == 0 ||
            options_refuse(options, "--h5-args", NULL, "takes no files; leave them out"));
  if (is_of_whole_files(options) && !check_whole_files(options)) return false;
  if (!check_decoder(options, is_given[OPTION_DECODER])) return false;
  if (options->file_count == 0)
    return options_refuse(options, "no file", NULL,
                          "was given; name at least one, or - for standard input");
  bool const is_of_fields =
      options->command == COMMAND_COMPRESS || options->command == COMMAND_SWEEP;
  if (is_of_fields && !check_mode(options)) return false;
  if ((options->has_level || options->has_region) && (options->has_slab || options->original))
    return options_refuse(options, options->has_region ? "--region" : "--level", NULL,
                          options->has_slab
                              ? "cannot be used with --slab; leave one of them out"
                              : "cannot be used with --compare; leave one of them out");
  if (!check_devices(options) || !check_in_frames(options) || !check_standard_streams(options) ||
      !check_series(options))
    return false;
  if (options->progress == PROGRESS_JSON && !options->is_json)
    return options_refuse(options, "--progress", "json", "is for --json; add it");
  if (options->output && options->file_count > 1)
    return options_refuse(options, "-o", NULL,
                          "names the output of a single file; give the files one by one");
  int stdin_uses = options->original && strcmp(options->original, "-") == 0;
  for (int i = 0; i < options->file_count; i++) stdin_uses += strcmp(options->files[i], "-") == 0;
  if (stdin_uses > 1)
    return options_refuse(options, "-", NULL,
                          "is given more than once; standard input can be read only once");
  return true;
}

const char *options_frame_by_frame(const struct options *options) {
  return options->memory ? "--memory" : options->device_list ? "--device" : NULL;
}

static const char *remedy_without_gpu(const struct options *options) {
  bool const has_cuda_decoder = !szgpu_decoder_runs_on(options->context.decoder, SZGPU_BACKEND_CPU);
  if (options->device_list)
    return has_cuda_decoder ? "leave --device and --decoder out" : "leave --device out";
  if (options->context.backend == SZGPU_BACKEND_CUDA)
    return has_cuda_decoder ? "use -b cpu and leave --decoder out" : "use -b cpu";
  return has_cuda_decoder ? "leave --decoder out" : NULL;
}

/* True if the data of some file go to standard output. */
static bool use_stdout(const struct options *options) {
  if (options->command != COMMAND_COMPRESS && options->command != COMMAND_RESTORE) return false;
  if (options->series) return false;
  if (options->output) return strcmp(options->output, "-") == 0;
  for (int i = 0; i < options->file_count; i++)
    if (strcmp(options->files[i], "-") == 0) return true;
  return false;
}

/* The file that gets data, or a series; false if it is not there yet, or a device: those keep
 * nothing. */
static bool find_data(const struct options *options, struct stat *data) {
  const char *const name = options->series ? options->series : options->output;
  int const failed = use_stdout(options) ? fstat(STDOUT_FILENO, data)
                     : name              ? stat(name, data)
                                         : -1;
  return failed == 0 && !S_ISCHR(data->st_mode) && !S_ISBLK(data->st_mode);
}

/* Also true if that cannot be told. */
static bool is_open_as(const struct stat *data, int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) != 0 ||
         (status.st_dev == data->st_dev && status.st_ino == data->st_ino);
}

/* No sentence but an error may get among the data: if standard output has them, the report goes to
 * standard error, and if that has them, too (2>&1), there is none. */
static void keep_data_apart(struct options *options) {
  struct stat data;
  bool const is_found = find_data(options, &data);
  options->is_stdout_taken = use_stdout(options) || (is_found && is_open_as(&data, STDOUT_FILENO));
  if (options->is_stdout_taken && is_found && is_open_as(&data, STDERR_FILENO))
    options->is_quiet = true;
}

/* Where an output of the command can go instead. */
static const char *remedy_elsewhere(const struct options *options) {
  if (options->series) return "name a series in another folder";
  bool const has_output = options->command == COMMAND_COMPRESS ||
                          options->command == COMMAND_RESTORE || is_of_whole_files(options);
  return has_output ? "name another folder with -o" : NULL;
}

struct report options_report(const struct options *options) {
  return (struct report){
      .out = options->is_stdout_taken ? stderr : stdout,
      .file = options->file_count == 1 ? options->files[0] : NULL,
      .command = word_of_command(options->command),
      .is_json = options->is_json,
      .is_quiet = options->is_quiet,
      .is_verbose = options->is_verbose,
      .is_strict = options->is_strict,
      .remedy_without_gpu = remedy_without_gpu(options),
      .remedy_elsewhere = remedy_elsewhere(options),
  };
}

bool options_read(int argc, char **argv, struct options *options, int *exit_code) {
  bool is_given[OPTION_END] = {false};
  *options = (struct options){.params = SZGPU_PARAMS_DEFAULTS, .context = SZGPU_OPTIONS_DEFAULTS};
  opterr = 0; /* szgpu prints its own sentences */
  for (;;) {
    int const option = getopt_long(argc, argv, option_letters, option_long_names, NULL);
    if (option == -1) break;
    if (option == 'h' || option == OPTION_HELP || option == OPTION_VERSION) {
      if (option == OPTION_VERSION)
        printf("szgpu %s\nCUDA: %s\nHDF5: %s\n", szgpu_version(), szgpu_has_cuda() ? "yes" : "no",
               hdf5_is_there() ? "yes" : "no");
      else
        print_help();
      *exit_code = CODE_OK;
      return false;
    }
    if (option == '?' || option == ':') {
      refuse_unknown(options, option, argv);
      continue;
    }
    is_given[option] = true;
    option_read(option, optarg, options);
  }
  options->files = argv + optind;
  options->file_count = argc - optind;
  bool const is_good = options->fault[0] == '\0' && check_together(options, is_given);
  keep_data_apart(options);
  struct report const report = options_report(options);
  if (is_good) {
    if (is_of_whole_files(options)) {
      options->command_line = join_words(argc, argv);
      if (options->command_line) return true;
      *exit_code = report_out_of_memory(&report, report.file, "the command line", (uint64_t)argc);
      return false;
    }
    if (options->command != COMMAND_H5_ARGS) return true;
    *exit_code = h5_args_print(&report, options, stdout);
    return false;
  }
  const char *const one_dash = option_with_one_dash(argv + 1, argc - 1);
  if (one_dash) { /* whatever its letters were taken for */
    options->fault[0] = '\0';
    refuse_name(options, one_dash);
  }
  *exit_code = report_failure(&report, CODE_USAGE, shown_input(report.file), "%s", options->fault);
  bounds_free(&options->bounds);
  return false;
}
