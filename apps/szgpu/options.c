/* options.c - reads the command line into one struct.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "options.h"

#include "decoders.h"
#include "h5_args.h"
#include "hdf5_dataset.h"
#include "help.h"
#include "report.h"
#include "values.h"

#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <string.h>

enum {
  OPTION_FRAME = 256, /* above every character */
  OPTION_ZSTD,
  OPTION_FILL,
  OPTION_DECODER,
  OPTION_DEVICE,
  OPTION_LAYOUT,
  OPTION_PREDICTOR,
  OPTION_NO_GAP,
  OPTION_H5_ARGS,
  OPTION_SLAB,
  OPTION_REGION,
  OPTION_LEVEL,
  OPTION_COMPARE,
  OPTION_MEMORY_LIMIT,
  OPTION_JSON,
  OPTION_HELP,
  OPTION_VERSION,
  OPTION_END
};

enum { EVERY_COMMAND = COMMAND_COMPRESS | COMMAND_RESTORE | COMMAND_LIST }; /* with files */
enum { DEFAULT_ZSTD_LEVEL = 3, MOST_ZSTD_LEVEL = 19 };

struct spelling {
  int option;
  const char *shown;
  unsigned commands; /* that take it */
};

static const struct spelling spellings[] = {
    {'e', "-e", COMMAND_COMPRESS | COMMAND_H5_ARGS},
    {'m', "-m", COMMAND_COMPRESS | COMMAND_H5_ARGS},
    {'t', "-t", COMMAND_COMPRESS},
    {'d', "-d", COMMAND_COMPRESS},
    {'V', "--verify", COMMAND_COMPRESS},
    {OPTION_FRAME, "--frame", COMMAND_COMPRESS},
    {OPTION_ZSTD, "--zstd", COMMAND_COMPRESS | COMMAND_H5_ARGS},
    {OPTION_FILL, "--fill", COMMAND_COMPRESS},
    {OPTION_LAYOUT, "--layout", COMMAND_COMPRESS | COMMAND_H5_ARGS},
    {OPTION_PREDICTOR, "--predictor", COMMAND_COMPRESS | COMMAND_H5_ARGS},
    {OPTION_NO_GAP, "--no-gap", COMMAND_COMPRESS},
    {OPTION_LEVEL, "--level", COMMAND_RESTORE},
    {OPTION_SLAB, "--slab", COMMAND_RESTORE},
    {OPTION_REGION, "--region", COMMAND_RESTORE},
    {OPTION_COMPARE, "--compare", COMMAND_RESTORE},
    {'o', "-o", COMMAND_COMPRESS | COMMAND_RESTORE},
    {'b', "-b", EVERY_COMMAND},
    {'j', "-j", EVERY_COMMAND},
    {'f', "-f", EVERY_COMMAND},
    {'q', "-q", EVERY_COMMAND},
    {'v', "-v", EVERY_COMMAND},
    {OPTION_DEVICE, "--device", EVERY_COMMAND},
    {OPTION_DECODER, "--decoder", COMMAND_COMPRESS | COMMAND_RESTORE},
    {OPTION_MEMORY_LIMIT, "--memory-limit", EVERY_COMMAND},
    {OPTION_JSON, "--json", EVERY_COMMAND},
};

static const char short_options[] = ":zxle:m:t:d:b:j:o:fqvVh";

static const struct option long_options[] = {
    {"verify", no_argument, NULL, 'V'},
    {"frame", required_argument, NULL, OPTION_FRAME},
    {"zstd", optional_argument, NULL, OPTION_ZSTD},
    {"fill", required_argument, NULL, OPTION_FILL},
    {"decoder", required_argument, NULL, OPTION_DECODER},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"layout", required_argument, NULL, OPTION_LAYOUT},
    {"predictor", required_argument, NULL, OPTION_PREDICTOR},
    {"no-gap", no_argument, NULL, OPTION_NO_GAP},
    {"h5-args", no_argument, NULL, OPTION_H5_ARGS},
    {"level", required_argument, NULL, OPTION_LEVEL},
    {"slab", required_argument, NULL, OPTION_SLAB},
    {"region", required_argument, NULL, OPTION_REGION},
    {"compare", required_argument, NULL, OPTION_COMPARE},
    {"memory-limit", required_argument, NULL, OPTION_MEMORY_LIMIT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static const struct choice modes[] = {{"rel", SZGPU_MODE_REL},
                                      {"abs", SZGPU_MODE_ABS},
                                      {"psnr", SZGPU_MODE_PSNR},
                                      {"lossless", SZGPU_MODE_LOSSLESS},
                                      {NULL, 0}};
static const struct choice dtypes[] = {
    {"f32", SZGPU_F32}, {"f64", SZGPU_F64}, {"u8", SZGPU_U8}, {"bf16", SZGPU_BF16},
    {"f16", SZGPU_F16}, {"fp8", SZGPU_FP8}, {NULL, 0}};
static const struct choice backends[] = {{"auto", SZGPU_BACKEND_AUTO},
                                         {"cpu", SZGPU_BACKEND_CPU},
                                         {"cuda", SZGPU_BACKEND_CUDA},
                                         {NULL, 0}};
static const struct choice layouts[] = {
    {"tile", SZGPU_LAYOUT_TILE}, {"linear", SZGPU_LAYOUT_LINEAR}, {NULL, 0}};
static const struct choice predictors[] = {{"auto", SZGPU_PREDICTOR_AUTO},
                                           {"lorenzo", SZGPU_PREDICTOR_LORENZO},
                                           {"interpolation", SZGPU_PREDICTOR_INTERPOLATION},
                                           {NULL, 0}};

/* Keeps the first fault, to report it once the files are known. */
static bool refuse(struct options *options, const char *option, const char *value,
                   const char *sentence) {
  if (options->fault[0] == '\0')
    snprintf(options->fault, sizeof options->fault, "%s%s%.100s %s", option, value ? " " : "",
             value ? value : "", sentence);
  return false;
}

/* Sets *value; refuses a text that is none of the choices. */
static bool choose(struct options *options, const struct choice *choices, const char *option,
                   const char *text, int *value) {
  char sentence[256] = "is not known; choose from";
  for (const struct choice *choice = choices; choice->name; choice++) {
    if (strcmp(choice->name, text) == 0) {
      *value = choice->value;
      return true;
    }
    size_t const used = strlen(sentence);
    snprintf(sentence + used, sizeof sentence - used, " %s", choice->name);
  }
  return refuse(options, option, text, sentence);
}

static bool choose_decoder(struct options *options, const char *text) {
  if (find_decoder(text, &options->context.decoder)) return true;
  char sentence[256];
  snprintf(sentence, sizeof sentence, "is not known; choose from %s",
           words_for_decoders(NULL, SZGPU_BACKEND_AUTO).text);
  return refuse(options, "--decoder", text, sentence);
}

static bool read_bound(const char *text, struct options *options) {
  double bound;
  if (!read_real(text, &bound))
    return refuse(options, "-e", text, "is not a number; give the bound as in -e 1e-4");
  if (!isfinite(bound) || bound <= 0)
    return refuse(options, "-e", text,
                  "is not a finite number above zero; give the bound as in -e 1e-4");
  options->params.bound = bound;
  options->has_bound = true;
  return true;
}

static bool read_number(struct options *options, const char *option, const char *text,
                        uint64_t least, uint64_t most, uint64_t *number) {
  char sentence[128];
  if (read_count(text, number) && *number >= least && *number <= most) return true;
  if (most == UINT64_MAX)
    snprintf(sentence, sizeof sentence, "is not a number of rows; give a whole number above zero");
  else
    snprintf(sentence, sizeof sentence, "is out of range; give a whole number from %d to %d",
             (int)least, (int)most);
  return refuse(options, option, text, sentence);
}

static bool read_device(const char *text, struct options *options) {
  uint64_t number;
  if (!read_count(text, &number) || number > INT_MAX)
    return refuse(options, "--device", text,
                  "is not the index of a GPU; give a whole number, 0 for the first");
  options->context.device = (int)number;
  return true;
}

static bool read_slab_option(const char *text, struct options *options) {
  const char *fault = read_slab(text, &options->slab_first_row, &options->slab_end_row);
  options->has_slab = true;
  return !fault || refuse(options, "--slab", text, fault);
}

static bool read_region_option(const char *text, struct options *options) {
  const char *fault = read_slices(text, &options->region);
  options->has_region = true;
  return !fault || refuse(options, "--region", text, fault);
}

static bool read_zstd(const char *level, struct options *options) {
  uint64_t number = DEFAULT_ZSTD_LEVEL;
  if (level && !read_number(options, "--zstd", level, 1, MOST_ZSTD_LEVEL, &number)) return false;
  options->params.zstd_level = (int)number;
  return true;
}

static bool read_command(enum command command, struct options *options) {
  if (options->command != COMMAND_NONE && options->command != command)
    return refuse(options, "-z, -x, -l and --h5-args", NULL,
                  "cannot be used together; give one of them");
  options->command = command;
  return true;
}

/* Options that take a value. */
static bool read_value(int option, const char *text, struct options *options) {
  int chosen = 0;
  uint64_t number = 0;
  bool is_good = true;
  switch (option) {
    case 'e':
      return read_bound(text, options);
    case 'm':
      is_good = choose(options, modes, "-m", text, &chosen);
      options->params.mode = (szgpu_mode)chosen;
      return is_good;
    case 't':
      is_good = choose(options, dtypes, "-t", text, &chosen);
      options->shape.dtype = (szgpu_dtype)chosen;
      options->has_dtype = true;
      return is_good;
    case 'b':
      is_good = choose(options, backends, "-b", text, &chosen);
      options->context.backend = (szgpu_backend)chosen;
      return is_good;
    case OPTION_LAYOUT:
      is_good = choose(options, layouts, "--layout", text, &chosen);
      options->params.layout = (szgpu_layout)chosen;
      return is_good;
    case OPTION_PREDICTOR:
      is_good = choose(options, predictors, "--predictor", text, &chosen);
      options->params.predictor = (szgpu_predictor)chosen;
      return is_good;
    case OPTION_DECODER:
      return choose_decoder(options, text);
    case OPTION_DEVICE:
      return read_device(text, options);
    case 'j':
      is_good = read_number(options, "-j", text, 0, SZGPU_MAX_THREADS, &number);
      options->context.threads = (int)number;
      return is_good;
    case OPTION_FRAME:
      return read_number(options, "--frame", text, 1, UINT64_MAX, &options->params.frame_rows);
    case OPTION_FILL:
      options->params.has_fill = 1;
      return read_real(text, &options->params.fill) ||
             refuse(options, "--fill", text,
                    "is not a number; give it as in --fill -9999 or --fill nan");
    case OPTION_LEVEL:
      is_good = read_number(options, "--level", text, 0, SZGPU_MAX_LEVEL, &number);
      options->level = (int)number;
      options->has_level = true;
      return is_good;
    case OPTION_SLAB:
      return read_slab_option(text, options);
    case OPTION_REGION:
      return read_region_option(text, options);
    case OPTION_MEMORY_LIMIT:
      return read_size(text, &options->context.memory_limit) ||
             refuse(options, "--memory-limit", text,
                    "is not a size; give it as in --memory-limit 500M or 4G");
    default:
      return false;
  }
}

static bool read_option(int option, char *text, struct options *options) {
  switch (option) {
    case 'z':
      return read_command(COMMAND_COMPRESS, options);
    case 'x':
      return read_command(COMMAND_RESTORE, options);
    case 'l':
      return read_command(COMMAND_LIST, options);
    case OPTION_H5_ARGS:
      return read_command(COMMAND_H5_ARGS, options);
    case 'd': {
      enum dims_fault const fault = read_dims(text, strlen(text), &options->shape);
      options->has_dims = true;
      return fault == DIMS_OK || refuse(options, "-d", text, words_for_dims_fault(fault));
    }
    case 'o':
      options->output = text;
      return true;
    case OPTION_COMPARE:
      options->original = text;
      return true;
    case OPTION_ZSTD:
      return read_zstd(text, options);
    case OPTION_NO_GAP:
      options->params.without_gaps = 1;
      return true;
    case 'f':
      return options->is_forced = true;
    case 'q':
      return options->is_quiet = true;
    case 'v':
      return options->is_verbose = true;
    case 'V':
      return options->is_verified = true;
    case OPTION_JSON:
      return options->is_json = true;
    default:
      return read_value(option, text, options);
  }
}

static bool refuse_unknown(struct options *options, int answer, char **argv) {
  char short_name[3] = {'-', (char)optopt, '\0'};
  bool const is_short = optopt > 0 && optopt <= CHAR_MAX;
  const char *name = argv[optind - 1];
  if (is_short && !(optopt == 'V' && strncmp(name, "--", 2) == 0)) name = short_name;
  if (answer == ':') return refuse(options, name, NULL, "needs a value; see szgpu --help");
  if (optopt != 0 && strncmp(name, "--", 2) == 0)
    return refuse(options, name, NULL, "takes no value; leave the value out");
  return refuse(options, name, NULL, "is not an option; see szgpu --help");
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
    return refuse(options, "--decoder", NULL,
                  "is used with -z only for --verify; add --verify or leave it out");
  if (backend == SZGPU_BACKEND_CPU && !szgpu_decoder_runs_on(decoder, backend))
    return refuse(options, "--decoder", name, "needs CUDA, not -b cpu; leave one of the two out");
  if (backend == SZGPU_BACKEND_CUDA && !szgpu_decoder_runs_on(decoder, backend))
    return refuse(options, "--decoder", name,
                  "is for the CPU, not for -b cuda; leave one of the two out");
  const char *refusal = options->is_verified ? refusal_to_verify(options) : NULL;
  if (!refusal) return true;
  char sentence[160];
  snprintf(sentence, sizeof sentence,
           "cannot read back for --verify what %s; leave one of the two out", refusal);
  return refuse(options, "--decoder", name, sentence);
}

/* Checks what only lossless modes take, and what only lossy ones do. */
static bool check_mode(struct options *options) {
  const szgpu_params *params = &options->params;
  if (params->without_gaps && params->layout != SZGPU_LAYOUT_LINEAR)
    return refuse(options, "--no-gap", NULL,
                  "is for the linear layout; add --layout linear or leave it out");
  if (params->predictor == SZGPU_PREDICTOR_INTERPOLATION && params->layout != SZGPU_LAYOUT_TILE)
    return refuse(options, "--predictor", "interpolation",
                  "cannot be used with --layout linear; leave one of them out");
  if (params->mode != SZGPU_MODE_LOSSLESS) {
    if (options->has_dtype && options->shape.dtype > SZGPU_F64)
      return refuse(options, "-t", words_for_dtype(options->shape.dtype),
                    "can only be compressed losslessly; add -m lossless");
    return options->has_bound ||
           refuse(options, "no bound", NULL, "was given; give one, as in -e 1e-4");
  }
  if (options->has_bound)
    return refuse(options, "-e", NULL, "cannot be used with -m lossless; leave one of them out");
  if (params->has_fill)
    return refuse(options, "--fill", NULL,
                  "cannot be used with -m lossless; leave one of them out");
  if (params->predictor != SZGPU_PREDICTOR_AUTO)
    return refuse(options, "--predictor", NULL,
                  "cannot be used with -m lossless; leave one of them out");
  return true;
}

static const char *name_of_command(enum command command) {
  switch (command) {
    case COMMAND_COMPRESS:
      return "-z";
    case COMMAND_RESTORE:
      return "-x";
    case COMMAND_LIST:
      return "-l";
    default:
      return "--h5-args";
  }
}

static bool check_together(struct options *options, const bool *is_given) {
  if (options->command == COMMAND_NONE)
    return refuse(options, "no mode", NULL, "was given; use -z, -x or -l, or see szgpu --help");
  for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++)
    if (is_given[spellings[i].option] && !(spellings[i].commands & options->command)) {
      char sentence[128];
      snprintf(sentence, sizeof sentence, "cannot be used with %s; leave it out%s",
               name_of_command(options->command),
               spellings[i].option == 'V' && options->command != COMMAND_H5_ARGS
                   ? " or use --compare with -x"
                   : "");
      return refuse(options, spellings[i].shown, NULL, sentence);
    }
  if (options->command == COMMAND_H5_ARGS)
    return check_mode(options) &&
           (options->file_count == 0 ||
            refuse(options, "--h5-args", NULL, "takes no files; leave them out"));
  if (!check_decoder(options, is_given[OPTION_DECODER])) return false;
  if (options->file_count == 0)
    return refuse(options, "no file", NULL,
                  "was given; name at least one, or - for standard input");
  if (options->command == COMMAND_COMPRESS && !check_mode(options)) return false;
  if ((options->has_level || options->has_region) && (options->has_slab || options->original))
    return refuse(options, options->has_region ? "--region" : "--level", NULL,
                  options->has_slab ? "cannot be used with --slab; leave one of them out"
                                    : "cannot be used with --compare; leave one of them out");
  if (options->output && options->file_count > 1)
    return refuse(options, "-o", NULL,
                  "names the output of a single file; give the files one by one");
  int stdin_uses = options->original && strcmp(options->original, "-") == 0;
  for (int i = 0; i < options->file_count; i++) stdin_uses += strcmp(options->files[i], "-") == 0;
  if (stdin_uses > 1)
    return refuse(options, "-", NULL,
                  "is given more than once; standard input can be read only once");
  return true;
}

static const char *remedy_without_gpu(const struct options *options) {
  bool const has_cuda_decoder = !szgpu_decoder_runs_on(options->context.decoder, SZGPU_BACKEND_CPU);
  if (options->context.backend == SZGPU_BACKEND_CUDA)
    return has_cuda_decoder ? "use -b cpu and leave --decoder out" : "use -b cpu";
  return has_cuda_decoder ? "leave --decoder out" : NULL;
}

struct report options_report(const struct options *options) {
  return (struct report){
      .out = options_use_stdout(options) ? stderr : stdout,
      .file = options->file_count == 1 ? options->files[0] : NULL,
      .is_json = options->is_json,
      .is_quiet = options->is_quiet,
      .is_verbose = options->is_verbose,
      .remedy_without_gpu = remedy_without_gpu(options),
  };
}

bool options_read(int argc, char **argv, struct options *options, int *exit_code) {
  bool is_given[OPTION_END] = {false};
  *options = (struct options){.params = SZGPU_PARAMS_DEFAULTS, .context = SZGPU_OPTIONS_DEFAULTS};
  opterr = 0; /* szgpu prints its own sentences */
  for (;;) {
    int const option = getopt_long(argc, argv, short_options, long_options, NULL);
    if (option == -1) break;
    if (option == 'h' || option == OPTION_HELP || option == OPTION_VERSION) {
      if (option == OPTION_VERSION)
        printf("szgpu %s\nCUDA: %s\nHDF5: %s\n", szgpu_version(), szgpu_has_cuda() ? "yes" : "no",
               hdf5_is_built_in() ? "yes" : "no");
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
    read_option(option, optarg, options);
  }
  options->files = argv + optind;
  options->file_count = argc - optind;
  if (options->fault[0] == '\0' && check_together(options, is_given)) {
    if (options->command != COMMAND_H5_ARGS) return true;
    h5_args_print(options, stdout);
    *exit_code = CODE_OK;
    return false;
  }
  struct report const report = options_report(options);
  *exit_code = report_failure(&report, CODE_USAGE, shown_input(report.file), "%s", options->fault);
  return false;
}

bool options_use_stdout(const struct options *options) {
  if (options->command == COMMAND_LIST) return false;
  if (options->output) return strcmp(options->output, "-") == 0;
  for (int i = 0; i < options->file_count; i++)
    if (strcmp(options->files[i], "-") == 0) return true;
  return false;
}
