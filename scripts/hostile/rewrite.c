#include "rewrite.h"

#include <stdlib.h>
#include <string.h>

#include <spirv/unified1/spirv.h>

#include "division.h"
#include "flush.h"
#include "sums.h"

// The instruction itself; in the mode `flush` with flushed operands and result.
static void copy(Rewriter *r, const uint32_t *at) {
    Module *m = &r->module;
    uint32_t length = length_of(at), first = first_operand(at);
    if (!r->modes->flush || !may_flush(m, at)) {
        put(&m->body, op_of(at), length - 1, at + 1);
        return;
    }
    uint32_t *words = malloc(length * sizeof *words), lanes = lanes_of(m, at[2]);
    if (!words) abort();
    memcpy(words, at, length * sizeof *words);
    bool changed = lanes > 0;
    for (uint32_t word = first; word < length; word++) {
        words[word] = operand(r, at[word]);
        changed |= words[word] != at[word];
    }
    if (lanes) words[2] = m->next++;
    put(&m->body, op_of(at), length - 1, words + 1);
    if (lanes) {
        if (r->no_contraction) PUT(&m->decorations, SpvOpDecorate, words[2], SpvDecorationNoContraction);
        put_flush(m, at[1], lanes, words[2], at[2]);
    }
    free(words);
    r->counts->flushed += changed;
}

// A value that is made of such as are no denormals is none.
static void note_normal(Rewriter *r, const uint32_t *at) {
    Module *m = &r->module;
    if (!lanes_of(m, at[2])) return;
    if (may_flush(m, at)) {
        r->normal[at[2]] = true;
        return;
    }
    uint32_t first = op_of(at) == SpvOpSelect ? 4 : 3, end = length_of(at);
    switch (op_of(at)) {
        case SpvOpCompositeExtract: end = 4; break;
        case SpvOpVectorShuffle: end = 5; break;
        case SpvOpCompositeConstruct:
        case SpvOpSelect:
        case SpvOpCopyObject: break;
        default: return;
    }
    for (uint32_t word = first; word < end; word++) {
        if (!lanes_of(m, at[word]) || !(r->normal[at[word]] || is_normal(m, at[word]))) return;
    }
    r->normal[at[2]] = true;
}

static bool is_matrix(uint32_t op) {
    return op == SpvOpMatrixTimesScalar || op == SpvOpMatrixTimesVector || op == SpvOpVectorTimesMatrix ||
           op == SpvOpMatrixTimesMatrix || op == SpvOpOuterProduct;
}

static void rewrite_instruction(Rewriter *r, const uint32_t *at) {
    Module *m = &r->module;
    uint32_t op = op_of(at), lanes = length_of(at) > 3 ? lanes_of(m, at[2]) : 0;
    r->result = lanes ? at[2] : 0;
    r->no_contraction = lanes && m->no_contraction[at[2]];
    if (op == SpvOpLabel) r->block++;
    if (is_matrix(op)) r->counts->matrix++;
    uint32_t flushed = r->counts->flushed;
    bool done = false;
    if (lanes && (op == SpvOpFAdd || op == SpvOpFSub)) {
        done = rewrite_sum(r, at, lanes);
    } else if (lanes && op == SpvOpDot) {
        done = rewrite_dot(r, at);
    } else if (lanes && op == SpvOpFDiv && r->modes->divide) {
        rewrite_division(r, at, lanes);
        done = true;
    }
    if (!done) copy(r, at);
    if (done && r->modes->flush) r->counts->flushed = flushed + 1;
    if (lanes && r->modes->flush) note_normal(r, at);
}

Words rewrite(const uint32_t *words, size_t count, const Modes *modes, Counts *counts) {
    Rewriter r = {.modes = modes, .counts = counts};
    Module *m = &r.module;
    *counts = (Counts){0};
    Words out;
    if (module_read(m, words, count)) {
        r.normal = calloc(m->bound, sizeof *r.normal);
        r.flushed = calloc(m->bound, sizeof *r.flushed);
        r.flushed_block = calloc(m->bound, sizeof *r.flushed_block);
        if (!r.normal || !r.flushed || !r.flushed_block) abort();
        for (size_t at = m->functions; at < count; at += length_of(&words[at])) rewrite_instruction(&r, &words[at]);
        out = module_write(m);
    } else {
        out = (Words){.words = malloc(count * sizeof *words), .count = count, .capacity = count};
        if (!out.words) abort();
        memcpy(out.words, words, count * sizeof *words);
    }
    free(r.normal);
    free(r.flushed);
    free(r.flushed_block);
    module_free(m);
    return out;
}
