/* test_auto.c - the default predictor is hardly ever worse than either of the two, on many kinds of
 * data.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <math.h>
#include <stdlib.h>

#include "ctxs.h"

/* What a value is, from its indices along z, y and x and from random numbers. */
typedef struct value_at {
  double z, y, x;
  test_random *random;
  double before; /* the value before it */
} value_at;

static double uniform(test_random *random) {
  return (double)(test_random_bits(random) >> 11) / 0x1p53;
}
/* About normal. */
static double normal(test_random *random) {
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += uniform(random);
  return sum;
}

static double ramp(const value_at *v) { return 0.37 * v->x; }
static double parabola(const value_at *v) { return v->x * v->x / 1e6; }
static double sine(const value_at *v) { return sin(v->x / 1000); }
static double walk(const value_at *v) { return v->before + normal(v->random); }
static double decimals(const value_at *v) {
  return rint(100 * (20 + 5 * sin(v->x / 900) + 0.3 * normal(v->random))) / 100;
}
static double counts(const value_at *v) { return rint(50 + 7 * normal(v->random)); }
static double waves(const value_at *v) { return sin(v->x / 9) + sin(v->y / 7) + sin(v->z / 8); }
static double labels(const value_at *v) { return rint(waves(v)); }
static double boxes(const value_at *v) {
  return 3 * floor(v->x / 17) + 7 * floor(v->y / 23) + 11 * floor(v->z / 29);
}
static double noisy_waves(const value_at *v) { return waves(v) + 0.02 * normal(v->random); }
static double points(const value_at *v) { return 100 * uniform(v->random); }
static double sparse(const value_at *v) {
  return uniform(v->random) < 0.01 ? normal(v->random) : 0;
}
static double rain(const value_at *v) { return fmax(0, normal(v->random) + waves(v) - 2); }
static double front(const value_at *v) { return tanh((v->x + 2 * v->y + v->z - 120) / 2); }
static double density(const value_at *v) { return exp(3 * waves(v) + 0.1 * normal(v->random)); }
static double coast(const value_at *v) { return v->x + v->y < 60 ? -9999 : 10 + waves(v); }
static double stripes(const value_at *v) {
  return waves(&(value_at){v->z, v->y, 0, v->random, 0}) + 5 * fmod(v->x, 3);
}
static double particles(const value_at *v) { return floor(v->x / 50) + uniform(v->random); }

/* The default takes Lorenzo if interpolation saves less than 1/32. Where more is allowed, the
 * sample is wrong: it knows nothing of zeros that lie together, for which tile frames have a bit;
 * and small fields are hardly sampled, to save time. */
#define MOST_LARGER 1.035

static const struct {
  const char *name;
  double (*value)(const value_at *v);
  szgpu_dtype dtype;
  int ndim;
  uint64_t dims[4];
  double bounds[3]; /* absolute */
  double most;      /* of what the better predictor takes; 0: MOST_LARGER */
} kinds[] = {
    {"ramp", ramp, SZGPU_F64, 1, {200000}, {1e-3, 1, 50}, 0},
    {"parabola", parabola, SZGPU_F64, 1, {200000}, {1e-3, 1, 50}, 0},
    {"sine", sine, SZGPU_F32, 1, {200000}, {1e-2, 1e-3, 1e-5}, 0},
    {"walk", walk, SZGPU_F32, 1, {200000}, {0.05, 1, 20}, 0},
    {"walk in a plane", walk, SZGPU_F32, 2, {400, 500}, {0.05, 1, 20}, 0},
    {"decimals", decimals, SZGPU_F64, 1, {200000}, {1e-4, 1e-2, 0.2}, 0},
    {"counts", counts, SZGPU_F32, 3, {50, 60, 64}, {1e-3, 1, 5}, 0},
    {"labels", labels, SZGPU_F32, 3, {64, 64, 64}, {1e-3, 0.1, 0.6}, 0},
    {"boxes", boxes, SZGPU_F32, 3, {64, 64, 64}, {1e-3, 0.4, 2}, 0},
    {"waves", waves, SZGPU_F32, 3, {64, 64, 64}, {1e-2, 1e-4, 1e-6}, 0},
    {"waves in a plane", waves, SZGPU_F32, 2, {300, 640}, {1e-2, 1e-4, 1e-6}, 0},
    {"noisy waves", noisy_waves, SZGPU_F32, 3, {64, 64, 64}, {0.1, 1e-2, 1e-4}, 0},
    {"noisy plane", noisy_waves, SZGPU_F64, 2, {512, 500}, {0.1, 1e-2, 1e-4}, 0},
    {"points", points, SZGPU_F32, 1, {200000}, {1e-2, 1, 10}, 0},
    {"sparse", sparse, SZGPU_F32, 3, {64, 64, 64}, {1e-4, 1e-2, 0.5}, 1.16},
    {"rain", rain, SZGPU_F32, 2, {400, 500}, {1e-3, 0.1, 0.5}, 0},
    {"front", front, SZGPU_F64, 3, {40, 64, 90}, {1e-2, 1e-4, 1e-6}, 1.14},
    {"density", density, SZGPU_F32, 3, {64, 64, 64}, {1, 0.1, 1e-3}, 0},
    {"coast", coast, SZGPU_F32, 3, {40, 64, 90}, {1e-1, 1e-2, 1e-4}, 0},
    {"particles", particles, SZGPU_F32, 1, {200000}, {1, 0.1, 1e-3}, 0},
    {"stripes along x", stripes, SZGPU_F32, 3, {40, 64, 96}, {0.1, 1e-2, 1e-4}, 0},
    {"components last", stripes, SZGPU_F32, 3, {240, 320, 3}, {0.1, 1e-2, 1e-4}, 0},
    {"pairs of pairs", walk, SZGPU_F32, 4, {32768, 2, 2, 2}, {0.05, 1, 20}, 0},
    {"patch of 8^3", waves, SZGPU_F32, 3, {8, 8, 8}, {1e-2, 1e-4, 1e-6}, 0},
    {"patch of 16^3", noisy_waves, SZGPU_F64, 3, {16, 16, 16}, {0.1, 1e-2, 1e-4}, 1.1},
    {"patch of 32^3", waves, SZGPU_F64, 3, {32, 32, 32}, {1e-2, 1e-4, 1e-6}, 0},
};

static void *make_field(size_t kind, szgpu_shape *shape) {
  *shape = (szgpu_shape){kinds[kind].dtype, kinds[kind].ndim, {0, 0, 0, 0}};
  for (int i = 0; i < shape->ndim; i++) shape->dims[i] = kinds[kind].dims[i];
  uint64_t const count = test_value_count(shape), width = shape->dims[shape->ndim - 1];
  uint64_t const rows = shape->ndim > 1 ? shape->dims[shape->ndim - 2] : 1;
  void *const values = test_allocate(test_field_bytes(shape));
  test_random random = {77};
  double before = 0;
  for (uint64_t i = 0; i < count; i++) {
    value_at const at = {(double)(i / width / rows), (double)(i / width % rows),
                         (double)(i % width), &random, before};
    before = kinds[kind].value(&at);
    if (shape->dtype == SZGPU_F32)
      ((float *)values)[i] = (float)before;
    else
      ((double *)values)[i] = before;
  }
  return values;
}

static void auto_is_as_small_as_the_better_one(void **state) {
  (void)state;
  int worse = 0;
  for (size_t kind = 0; kind < ARRAY_COUNT(kinds); kind++) {
    szgpu_shape shape;
    void *const field = make_field(kind, &shape);
    for (size_t b = 0; b < ARRAY_COUNT(kinds[kind].bounds); b++) {
      uint64_t bytes[3];
      for (int p = SZGPU_PREDICTOR_AUTO; p <= SZGPU_PREDICTOR_INTERPOLATION; p++) {
        szgpu_params params = SZGPU_PARAMS_DEFAULTS;
        params.mode = SZGPU_MODE_ABS;
        params.bound = kinds[kind].bounds[b];
        params.predictor = (szgpu_predictor)p;
        test_archive const archive = test_compress(ctx, &params, &shape, field);
        bytes[p] = archive.byte_count;
        free(archive.bytes);
      }
      uint64_t const lorenzo = bytes[SZGPU_PREDICTOR_LORENZO];
      uint64_t const interpolation = bytes[SZGPU_PREDICTOR_INTERPOLATION];
      uint64_t const best = lorenzo < interpolation ? lorenzo : interpolation;
      double const most = kinds[kind].most > 0 ? kinds[kind].most : MOST_LARGER;
      if ((double)bytes[SZGPU_PREDICTOR_AUTO] <= most * (double)best + 64) continue;
      print_error("%s, abs %g: %llu bytes; lorenzo %llu, interpolation %llu: %.3f\n",
                  kinds[kind].name, kinds[kind].bounds[b],
                  (unsigned long long)bytes[SZGPU_PREDICTOR_AUTO], (unsigned long long)lorenzo,
                  (unsigned long long)interpolation,
                  (double)bytes[SZGPU_PREDICTOR_AUTO] / (double)best);
      worse++;
    }
    free(field);
  }
  assert_int_equal(worse, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(auto_is_as_small_as_the_better_one)};
  return cmocka_run_group_tests(tests, make_ctxs, destroy_ctxs);
}
