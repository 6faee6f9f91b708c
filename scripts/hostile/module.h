// A SPIR-V module that is read, and the one that is written instead of it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t *words;
    size_t count, capacity;
} Words;

typedef struct {
    const uint32_t *in;
    size_t words;
    uint32_t bound;               // ids of the module that is read are below it
    uint32_t next;                // the next id of the module that is written
    const uint32_t **definitions; // the instruction that gives each id; NULL where a type comes first or there is none
    bool *no_contraction;         // ids with that decoration
    size_t annotations_end;       // where types begin: decorations end here
    size_t functions;             // where the first function begins
    uint32_t glsl;                // the set of extended instructions GLSL.std.450
    uint32_t f32;                 // the type
    bool has_float64, needs_float64;
    Words decorations, types, body; // what is written: new decorations, new types and constants, all functions
} Module;

// False where the words are no module, or have no function or no f32.
bool module_read(Module *module, const uint32_t *words, size_t count);

// The whole module that is written. The caller frees it.
Words module_write(const Module *module);

void module_free(Module *module);

// Appends an instruction with these operands.
void put(Words *out, uint32_t op, size_t operands, const uint32_t *operand);
#define PUT(out, op, ...) put(out, op, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})

uint32_t op_of(const uint32_t *instruction);
uint32_t length_of(const uint32_t *instruction);

// The instruction that gives an id of the module that is read, or NULL.
const uint32_t *definition(const Module *module, uint32_t id);

// The lanes of a type: 0 if it is no f32 and no vector of them, 1 for f32.
uint32_t lanes_of_type(const Module *module, uint32_t type);

// The lanes of a value of the module that is read.
uint32_t lanes_of(const Module *module, uint32_t id);

// Types of the module, added where there are none; vectors for more than one lane.
uint32_t type_float64(Module *module);
uint32_t type_uint(Module *module, uint32_t lanes);
uint32_t type_bool(Module *module, uint32_t lanes);

// Constants of the module, added where there are none: the same number, or the same 32 bits of an f32, in each lane.
uint32_t constant_uint(Module *module, uint32_t lanes, uint32_t number);
uint32_t constant_float(Module *module, uint32_t bits);
