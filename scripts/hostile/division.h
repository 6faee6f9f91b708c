// Divisions by a reciprocal.
#pragma once

#include "lanes.h"

// Writes an FDiv as a product. NoContraction promises nothing about divisions, so that its decoration does not matter.
void rewrite_division(Rewriter *r, const uint32_t *at, uint32_t lanes);
