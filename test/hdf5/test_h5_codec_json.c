/* test_h5_codec_json.c - the configuration of zarr's codec, and cd_values.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#define _POSIX_C_SOURCE 200809L /* strdup */

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codec_json.h"
#include "support.h"
#include "szgpu_hdf5.h"

enum { WHY_BYTES = 512 };

/* Each text gives words that give the text again. */
static const struct {
  const char *json;
  unsigned mode, options;
  double bound;
  size_t fill_count;
  double fills[SZGPU_H5_MOST_FILLS];
} configs[] = {
    {"{\"id\": \"szgpu\", \"abs\": 0.01}", SZGPU_MODE_ABS, SZGPU_H5_NAMED, 0.01, 0, {0}},
    {"{\"id\": \"szgpu\", \"rel\": 1e-300}", SZGPU_MODE_REL, SZGPU_H5_NAMED, 1e-300, 0, {0}},
    {"{\"id\": \"szgpu\", \"psnr\": 60}", SZGPU_MODE_PSNR, SZGPU_H5_NAMED, 60, 0, {0}},
    {"{\"id\": \"szgpu\", \"pwrel\": 0.30000000000000004}",
     SZGPU_MODE_PWREL,
     SZGPU_H5_NAMED,
     0.1 + 0.2,
     0,
     {0}},
    {"{\"id\": \"szgpu\", \"lossless\": true}", SZGPU_MODE_LOSSLESS, 0, 0, 0, {0}},
    {"{\"id\": \"szgpu\", \"lossless\": true, \"zstd\": 19}", SZGPU_MODE_LOSSLESS, 19, 0, 0, {0}},
    {"{\"id\": \"szgpu\", \"abs\": 2, \"fill\": -9999}",
     SZGPU_MODE_ABS,
     SZGPU_H5_NAMED | SZGPU_H5_FILLS_UNIT,
     2,
     1,
     {-9999}},
    {"{\"id\": \"szgpu\", \"abs\": 2, \"fill\": [1e+20, 0.1, \"inf\", \"-inf\"], "
     "\"predictor\": \"interpolation\", \"zstd\": 3}",
     SZGPU_MODE_ABS,
     SZGPU_H5_NAMED | 4 * SZGPU_H5_FILLS_UNIT | SZGPU_H5_INTERPOLATION | 3,
     2,
     4,
     {1e20, 0.1, INFINITY, -INFINITY}},
    {"{\"id\": \"szgpu\", \"abs\": 2, \"predictor\": \"lorenzo\"}",
     SZGPU_MODE_ABS,
     SZGPU_H5_NAMED | SZGPU_H5_LORENZO,
     2,
     0,
     {0}},
};

static void reads_and_writes(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(configs); i++) {
    unsigned words[SZGPU_H5_MOST_USER_WORDS];
    char json[CODEC_JSON_BYTES], why[WHY_BYTES];
    size_t count;
    assert_true(codec_json_read(configs[i].json, words, &count, why));
    assert_int_equal(count, SZGPU_H5_USER_WORDS + 2 * configs[i].fill_count);
    assert_int_equal(words[SZGPU_H5_WORD_VERSION], 1);
    assert_int_equal(words[SZGPU_H5_WORD_MODE], configs[i].mode);
    assert_int_equal(words[SZGPU_H5_WORD_OPTIONS], configs[i].options);
    assert_true(szgpu_h5_get_double(words + SZGPU_H5_WORD_BOUND) == configs[i].bound);
    for (size_t j = 0; j < configs[i].fill_count; j++)
      assert_true(szgpu_h5_get_double(words + SZGPU_H5_WORD_FILLS + 2 * j) == configs[i].fills[j]);
    assert_true(codec_json_write(words, count, json, why));
    assert_string_equal(json, configs[i].json);
  }
}

static void reads_other_forms(void **state) {
  (void)state;
  static const char *const forms[] = {
      "{\"abs\":1E-2,\"id\":\"szgpu\"}",
      " {\n\"lossless\" : false , \"abs\" : 0.01,\"id\":\"szgpu\"}\n",
      "{\"id\": \"szgpu\", \"abs\": 0.01, \"fill\": [], \"predictor\": \"auto\", \"zstd\": 0}"};
  for (size_t i = 0; i < ARRAY_COUNT(forms); i++) {
    unsigned words[SZGPU_H5_MOST_USER_WORDS];
    char json[CODEC_JSON_BYTES], why[WHY_BYTES];
    size_t count;
    assert_true(codec_json_read(forms[i], words, &count, why));
    assert_true(codec_json_write(words, count, json, why));
    assert_string_equal(json, "{\"id\": \"szgpu\", \"abs\": 0.01}");
  }
}

static void keeps_nan(void **state) {
  (void)state;
  static const char text[] = "{\"id\": \"szgpu\", \"abs\": 2, \"fill\": \"nan\"}";
  unsigned words[SZGPU_H5_MOST_USER_WORDS];
  char json[CODEC_JSON_BYTES], why[WHY_BYTES];
  size_t count;
  assert_true(codec_json_read(text, words, &count, why));
  assert_true(isnan(szgpu_h5_get_double(words + SZGPU_H5_WORD_FILLS)));
  assert_true(codec_json_write(words, count, json, why));
  assert_string_equal(json, text);
}

/* A program's comma in numbers, or its rounding, changes nothing. */
static void is_independent_of_the_program(void **state) {
  int const way = fegetround();
  bool const has_comma = setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
  if (!has_comma) print_message("skipped: there is no locale de_DE.UTF-8\n");
  fesetround(FE_UPWARD);
  reads_and_writes(state);
  fesetround(way);
  setlocale(LC_NUMERIC, "C");
}

static void refuses_in_one_sentence(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "no object"},
      {"[]", "no object"},
      {"{", "not JSON"},
      {"{}", "not JSON"},
      {"{\"id\": \"szgpu\"", "not JSON"},
      {"{\"id\": \"szgpu\", \"abs\": 1} x", "not JSON"},
      {"{\"id\": \"szgpu\", \"abs\": 1, }", "not JSON"},
      {"{\"id\": \"szgpu\", \"abs\" 1}", "not JSON"},
      {"{\"abs\": 1}", "has no id"},
      {"{\"id\": \"sz3\", \"abs\": 1}", "id is not \"szgpu\""},
      {"{\"id\": 1, \"abs\": 1}", "id is not \"szgpu\""},
      {"{\"id\": \"szgpu\"}", "exactly one of"},
      {"{\"id\": \"szgpu\", \"lossless\": false}", "exactly one of"},
      {"{\"id\": \"szgpu\", \"abs\": 1, \"rel\": 1}", "exactly one of"},
      {"{\"id\": \"szgpu\", \"abs\": 0x10}", "abs is not a number"},
      {"{\"id\": \"szgpu\", \"abs\": 1e999}", "abs is not a number"},
      {"{\"id\": \"szgpu\", \"abs\": \"nan\"}", "finite positive"},
      {"{\"id\": \"szgpu\", \"abs\": null}", "abs is not a number"},
      {"{\"id\": \"szgpu\", \"abs\": 1, \"valid\": [0, 1]}", "no setting 'valid'"},
      {"{\"id\": \"szgpu\", \"abs\": 1, \"fill\": [1, 2, 3, 4, 5]}", "more than four"},
      {"{\"id\": \"szgpu\", \"abs\": 1, \"fill\": [1, 2}", "fill is not"},
      {"{\"id\": \"szgpu\", \"abs\": 1, \"zstd\": -1}", "zstd is not a whole number"},
  };
  for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
    unsigned words[SZGPU_H5_MOST_USER_WORDS];
    char why[WHY_BYTES] = "";
    size_t count;
    assert_false(codec_json_read(cases[i][0], words, &count, why));
    assert_non_null(strstr(why, "szgpu"));
    assert_non_null(strstr(why, cases[i][1]));
  }
}

/* Neither a text that ends anywhere nor one with another byte leads outside of it. */
static void survives_damaged_texts(void **state) {
  (void)state;
  for (size_t i = 0; i < ARRAY_COUNT(configs); i++) {
    size_t const chars = strlen(configs[i].json);
    for (size_t end = 0; end < chars; end++) {
      unsigned words[SZGPU_H5_MOST_USER_WORDS];
      char why[WHY_BYTES] = "", *const text = strdup(configs[i].json);
      size_t count;
      assert_non_null(text);
      char const was = text[end];
      text[end] = '\0';
      assert_false(codec_json_read(text, words, &count, why));
      assert_true(*why);
      static const char others[] = "\"\\{}[],:x0-e";
      for (size_t j = 0; j < sizeof others - 1; j++) {
        text[end] = others[j];
        *why = '\0';
        assert_true(codec_json_read(text, words, &count, why) != (*why != '\0'));
      }
      text[end] = was;
      free(text);
    }
  }
}

static void refuses_words_without_a_name(void **state) {
  (void)state;
  unsigned words[SZGPU_H5_MOST_USER_WORDS];
  char json[CODEC_JSON_BYTES], why[WHY_BYTES];
  size_t const count = szgpu_h5_cd_values(SZGPU_MODE_ABS, 1, words);
  words[SZGPU_H5_WORD_OPTIONS] = SZGPU_H5_LINEAR;
  assert_false(codec_json_write(words, count, json, why));
  assert_non_null(strstr(why, "no linear layout"));
  words[SZGPU_H5_WORD_OPTIONS] = 1u << 20;
  assert_false(codec_json_write(words, count, json, why));
  assert_non_null(strstr(why, "unknown options"));
  assert_true(codec_json_write(NULL, 0, json, why));
  assert_string_equal(json, "{\"id\": \"szgpu\", \"lossless\": true}");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_and_writes),
      cmocka_unit_test(reads_other_forms),
      cmocka_unit_test(keeps_nan),
      cmocka_unit_test(is_independent_of_the_program),
      cmocka_unit_test(refuses_in_one_sentence),
      cmocka_unit_test(survives_damaged_texts),
      cmocka_unit_test(refuses_words_without_a_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
