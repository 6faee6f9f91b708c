// Functions are inlined, and variables become values.
#pragma once

#include "module.h"

// The module that spirv-opt makes of this one; its command is in GPUFEED_HOSTILE_OPTIMIZER. Prints what is wrong, and
// then has no words.
Words inlined(const uint32_t *words, size_t count);
