// What the layer makes of the shaders that a program gives to the driver.
#pragma once

#include "modes.h"
#include "module.h"

// The words that the driver gets; the caller frees them. None if they cannot be made, which is printed.
//
// GPUFEED_HOSTILE_COUNT=1 prints what was changed in each module to standard error; another value is the file to which it is
// appended. GPUFEED_HOSTILE_DUMP=FOLDER writes each module as it came and as it went.
Words rewrite_shader(const uint32_t *words, size_t count, const Modes *modes);
