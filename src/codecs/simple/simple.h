/* simple.h - frames of kind "constant": one value, with exceptions; of kind "raw": byte planes.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef SZG_SIMPLE_H
#define SZG_SIMPLE_H

#include "codecs/kind.h"

SZG_C_BEGIN

SZG_DECLARE_KIND(constant);
SZG_DECLARE_KIND(raw);

SZG_C_END

#endif
