/* codec_json.h - the configuration of the codec "szgpu" in zarr's metadata, and cd_values.
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * It is what szgpu.numcodecs.Szgpu writes: {"id": "szgpu", "abs": 0.01, "fill": [-1, "nan"],
 * "predictor": "lorenzo", "zstd": 3}. A codec is always one of a single array, so the words have
 * SZGPU_H5_NAMED. On failure both functions put a sentence into why[CHUNK_SENTENCE_BYTES].
 */
#ifndef CODEC_JSON_H
#define CODEC_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum { CODEC_JSON_BYTES = 512 }; /* fits the longest configuration */

/* words[SZGPU_H5_MOST_USER_WORDS]: the user's. */
bool codec_json_read(const char *json, unsigned *words, size_t *word_count, char *why);

/* words: the user's, alone or followed by the stored ones; json[CODEC_JSON_BYTES]. */
bool codec_json_write(const unsigned *words, size_t word_count, char *json, char *why);

#endif
