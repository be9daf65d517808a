/* in_a_graph.cu - a simulation keeps its latest states compressed, without leaving the GPU.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nvcc in_a_graph.cu $(pkg-config --cflags --libs szgpu)
 *
 * A step, and the compression of the two fields that it makes, are one CUDA graph. The host replays
 * it and looks at the outcomes when all steps are done. At the end the last state comes back from
 * its archives, and the program compares it with the fields. Exit code 77: there is no GPU.
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <szgpu.h>

enum { SIDE = 96, VALUES = SIDE * SIDE * SIDE, FIELDS = 2, STEPS = 50 };

static const double bound = 1e-4;

static void require(int is_good, const char *what) {
  if (is_good) return;
  fprintf(stderr, "in_a_graph: %s\n", what);
  exit(1);
}
#define CUDA(call) require((call) == cudaSuccess, #call)

/* A wave in a box with walls: position and velocity after one step. */
__global__ void step_kernel(float *position, float *velocity) {
  int const i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  int const x = i % SIDE, y = i / SIDE % SIDE, z = i / (SIDE * SIDE);
  if (i >= VALUES) return;
  bool const is_inside = x > 0 && y > 0 && z > 0 && x + 1 < SIDE && y + 1 < SIDE && z + 1 < SIDE;
  if (!is_inside) return;
  float const around = position[i - 1] + position[i + 1] + position[i - SIDE] + position[i + SIDE] +
                       position[i - SIDE * SIDE] + position[i + SIDE * SIDE];
  velocity[i] += 0.1f * (around - 6 * position[i]);
}
__global__ void move_kernel(float *position, const float *velocity) {
  int const i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < VALUES) position[i] += 0.1f * velocity[i];
}
__global__ void start_kernel(float *position, float *velocity) {
  int const i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  float const x = (float)(i % SIDE - SIDE / 2), y = (float)(i / SIDE % SIDE - SIDE / 2);
  float const z = (float)(i / (SIDE * SIDE) - SIDE / 2);
  if (i >= VALUES) return;
  position[i] = expf(-0.01f * (x * x + y * y + z * z));
  velocity[i] = 0;
}

int main(void) {
  szgpu_options options = SZGPU_OPTIONS_DEFAULTS;
  szgpu_params params = SZGPU_PARAMS_DEFAULTS;
  szgpu_shape const shape = {SZGPU_F32, 3, {SIDE, SIDE, SIDE}};
  szgpu_async_item writes[FIELDS], reads[FIELDS];
  szgpu_outcome *outcomes, found[2 * FIELDS];
  size_t room, workspace_bytes;
  float *fields, *restored;
  void *archives, *workspace;
  cudaStream_t stream;
  szgpu_ctx *ctx;
  if (szgpu_device_count() == 0) {
    fprintf(stderr, "in_a_graph: there is no GPU\n");
    return 77;
  }
  options.backend = SZGPU_BACKEND_CUDA;
  require(szgpu_create(&ctx, &options) == SZGPU_OK, "no ctx");
  CUDA(cudaStreamCreate(&stream));

  /* What stream-ordered calls ask for. The amplitude cannot exceed 2 here. */
  params.mode = SZGPU_MODE_ABS;
  params.bound = bound;
  params.greatest = 2;
  params.predictor = SZGPU_PREDICTOR_LORENZO;
  params.raw_outliers = 1;
  require(szgpu_sizes(ctx, &params, &shape, NULL, &room) == SZGPU_OK, szgpu_last_error(ctx));
  room = (room + 15) / 16 * 16; /* archives are aligned to 16 bytes */

  CUDA(cudaMalloc((void **)&fields, FIELDS * VALUES * sizeof *fields));
  CUDA(cudaMalloc((void **)&restored, FIELDS * VALUES * sizeof *restored));
  CUDA(cudaMalloc(&archives, FIELDS * room));
  CUDA(cudaMalloc((void **)&outcomes, sizeof found));
  for (int i = 0; i < FIELDS; i++) {
    writes[i].shape = shape;
    writes[i].field = fields + i * VALUES;
    writes[i].archive = (char *)archives + (size_t)i * room;
    writes[i].archive_bytes = room;
    writes[i].archive_bytes_at = NULL;
    writes[i].outcome = outcomes + i;
    reads[i] = writes[i];
    reads[i].field = restored + i * VALUES;
    reads[i].archive_bytes_at = &writes[i].outcome->bytes; /* the device knows it */
    reads[i].outcome = outcomes + FIELDS + i;
  }
  require(szgpu_async_bytes(ctx, &params, writes, FIELDS, &workspace_bytes) == SZGPU_OK,
          szgpu_last_error(ctx));
  CUDA(cudaMalloc(&workspace, workspace_bytes));

  /* The first call loads kernels, which a capture may not allow. */
  start_kernel<<<VALUES / 256, 256, 0, stream>>>(fields, fields + VALUES);
  require(szgpu_compress_async(ctx, &params, writes, FIELDS, workspace, workspace_bytes, stream) ==
              SZGPU_OK,
          szgpu_last_error(ctx));
  cudaGraph_t graph;
  cudaGraphExec_t step;
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  step_kernel<<<VALUES / 256, 256, 0, stream>>>(fields, fields + VALUES);
  move_kernel<<<VALUES / 256, 256, 0, stream>>>(fields, fields + VALUES);
  require(szgpu_compress_async(ctx, &params, writes, FIELDS, workspace, workspace_bytes, stream) ==
              SZGPU_OK,
          szgpu_last_error(ctx));
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&step, graph, 0));
  for (int i = 0; i < STEPS; i++) CUDA(cudaGraphLaunch(step, stream));

  require(szgpu_decompress_async(ctx, &params, reads, FIELDS, workspace, workspace_bytes, stream) ==
              SZGPU_OK,
          szgpu_last_error(ctx));
  CUDA(cudaMemcpyAsync(found, outcomes, sizeof found, cudaMemcpyDeviceToHost, stream));
  float *const values = (float *)malloc(2 * FIELDS * VALUES * sizeof *values);
  require(values != NULL, "out of memory");
  CUDA(cudaMemcpyAsync(values, fields, FIELDS * VALUES * sizeof *values, cudaMemcpyDeviceToHost,
                       stream));
  CUDA(cudaMemcpyAsync(values + FIELDS * VALUES, restored, FIELDS * VALUES * sizeof *values,
                       cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  double greatest_error = 0;
  for (int i = 0; i < FIELDS * VALUES; i++)
    greatest_error =
        fmax(greatest_error, fabs((double)values[i] - (double)values[FIELDS * VALUES + i]));
  for (int i = 0; i < 2 * FIELDS; i++)
    require(found[i].status == SZGPU_OK, szgpu_status_text((szgpu_status)found[i].status));
  printf("%d steps; position takes %llu bytes, velocity %llu, of %zu; greatest error %g\n", STEPS,
         (unsigned long long)found[0].bytes, (unsigned long long)found[1].bytes,
         VALUES * sizeof *values, greatest_error);
  require(greatest_error <= bound, "a value is beyond the bound");
  free(values);
  cudaGraphExecDestroy(step);
  cudaGraphDestroy(graph);
  cudaFree(fields), cudaFree(restored), cudaFree(archives), cudaFree(outcomes), cudaFree(workspace);
  cudaStreamDestroy(stream);
  szgpu_destroy(ctx);
  return 0;
}
