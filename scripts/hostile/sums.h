// Sums: contracted with a product, or reassociated.
#pragma once

#include "lanes.h"

// Writes an FAdd or an FSub otherwise. False where there is nothing to change, and nothing was written.
bool rewrite_sum(Rewriter *r, const uint32_t *at, uint32_t lanes);

// Writes an OpDot as a chain of contracted sums, or of flushed ones, from the first lane on; in the mode `fma2` from
// the last one. False where nothing was written.
bool rewrite_dot(Rewriter *r, const uint32_t *at);
