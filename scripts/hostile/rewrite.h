// The rewriting of a SPIR-V module: what a driver that is within Vulkan's rules may make of it.
#pragma once

#include "modes.h"
#include "module.h"

// How many instructions were changed. One instruction may count in several ways.
typedef struct {
    uint32_t contracted, reassociated, divided, flushed;
    uint32_t left_alone;  // would be contracted or reassociated, but for the decoration NoContraction
    uint32_t matrix;      // instructions on matrices, into which no mode looks
} Counts;

// The caller frees the words.
Words rewrite(const uint32_t *words, size_t count, const Modes *modes, Counts *counts);
