// What GPUFEED_HOSTILE asks of the layer.
#pragma once

#include <stdbool.h>

typedef struct {
    bool discrete;    // the device's type is a discrete GPU
    bool integrated;  // the device's type is an integrated GPU
    bool nvidia, amd; // the device's vendor
    bool inlined;     // functions are inlined and variables become values before the modes below are applied; this is
                      // done by spirv-opt, whose command is in GPUFEED_HOSTILE_OPTIMIZER
    bool fma;         // a * b + c is rounded once; of two products the left one is contracted
    bool fma_right;   // the same, of two products the right one
    bool divide;      // a / b is a times a reciprocal that is one ulp off
    bool associate;   // (a + b) + c is a + (b + c)
    bool flush;       // denormal inputs and results of arithmetic are zero
} Modes;

// Reads a list such as `discrete,fma`; no list has no modes. Prints what is wrong with it and returns false where a
// mode is not known, or two exclude each other.
bool modes_read(const char *list, Modes *modes);

// True if the modes compute in f64.
bool modes_need_float64(const Modes *modes);
