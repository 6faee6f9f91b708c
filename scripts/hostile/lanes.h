// Values of the module that is read as scalars of f32: a driver sees through vectors, as GPUs have none.
#pragma once

#include "rewrite.h"

typedef struct {
    Module module;
    const Modes *modes;
    Counts *counts;
    bool *normal;             // values that were flushed where they were made, so that they are no denormals
    uint32_t *flushed;        // the flushed copy of a value, and the block in which it is known
    uint32_t *flushed_block;
    uint32_t block;
    uint32_t result;          // of the instruction that is rewritten
    bool no_contraction;      // its decoration
} Rewriter;

// A lane of a vector, or a scalar.
typedef struct {
    uint32_t id;
    uint32_t lane;
} Lane;
enum { SCALAR = UINT32_MAX };

// The lane of an operand of an instruction on vectors.
Lane lane_of(const Rewriter *r, uint32_t id, uint32_t lane);

// The value from which a lane is taken, through instructions that build and take apart vectors.
Lane resolve(const Rewriter *r, Lane lane);

// A value as an operand: flushed in that mode, once for each block.
uint32_t operand(Rewriter *r, uint32_t id);

// The same of a lane, which is taken out of its vector, and the same converted to f64.
uint32_t scalar(Rewriter *r, Lane lane);
uint32_t wide(Rewriter *r, Lane lane);

// Writes an instruction on f32, of one operand if `b` is 0. The operands are flushed already; its result is flushed
// here. It has the decoration of the instruction that is rewritten.
void put_arithmetic(Rewriter *r, uint32_t op, uint32_t a, uint32_t b, uint32_t result);

// An id for each lane of an instruction's result: the result itself if it is a scalar.
void lane_ids(Rewriter *r, const uint32_t *at, uint32_t lanes, uint32_t ids[4]);

// Writes an instruction's result, made of those lanes; nothing if it is a scalar.
void put_lanes(Rewriter *r, const uint32_t *at, uint32_t lanes, const uint32_t ids[4]);
