// What the layer makes of the shaders that a program gives to the driver.
#pragma once

#include "modes.h"
#include "rewrite.h"

// The words that the driver gets; the caller frees them. None if they cannot be made, which is printed.
//
// GPUFEED_HOSTILE_COUNT=1 prints what was changed in each module to standard error; another value is the file to which
// it is appended. GPUFEED_HOSTILE_DUMP=FOLDER writes each module as it came and as it went.
Words rewrite_shader(const uint32_t *words, size_t count, const Modes *modes);

// The same without a driver, for `scripts/test_hostile.py`: takes the modes as GPUFEED_HOSTILE has them. NULL if there
// are no words.
__attribute__((visibility("default"))) uint32_t *gpufeed_hostile_rewrite(const char *list, const uint32_t *words,
                                                                         size_t *count, Counts *counts);
