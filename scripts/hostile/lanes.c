#include "lanes.h"

#include <spirv/unified1/spirv.h>

#include "flush.h"

static bool is_scalar(const Rewriter *r, uint32_t id) { return lanes_of(&r->module, id) == 1; }

uint32_t operand(Rewriter *r, uint32_t id) {
    Module *m = &r->module;
    uint32_t lanes = lanes_of(m, id);
    if (!r->modes->flush || !lanes || r->normal[id] || is_normal(m, id)) return id;
    if (r->flushed_block[id] != r->block) {
        r->flushed[id] = m->next++;
        r->flushed_block[id] = r->block;
        put_flush(m, definition(m, id)[1], lanes, id, r->flushed[id]);
    }
    return r->flushed[id];
}

void put_arithmetic(Rewriter *r, uint32_t op, uint32_t a, uint32_t b, uint32_t result) {
    Module *m = &r->module;
    uint32_t value = r->modes->flush ? m->next++ : result, operands[] = {m->f32, value, a, b};
    put(&m->body, op, b ? 4 : 3, operands);
    if (r->no_contraction && value != r->result) PUT(&m->decorations, SpvOpDecorate, value, SpvDecorationNoContraction);
    if (r->modes->flush) put_flush(m, m->f32, 1, value, result);
}

uint32_t scalar(Rewriter *r, Lane lane) {
    Module *m = &r->module;
    uint32_t id = operand(r, lane.id);
    if (lane.lane == SCALAR) return id;
    uint32_t extracted = m->next++;
    PUT(&m->body, SpvOpCompositeExtract, m->f32, extracted, id, lane.lane);
    return extracted;
}

uint32_t wide(Rewriter *r, Lane lane) {
    Module *m = &r->module;
    uint32_t id = scalar(r, lane), type = type_float64(m), result = m->next++;
    PUT(&m->body, SpvOpFConvert, type, result, id);
    return result;
}

Lane lane_of(const Rewriter *r, uint32_t id, uint32_t lane) { return (Lane){id, is_scalar(r, id) ? SCALAR : lane}; }

Lane resolve(const Rewriter *r, Lane lane) {
    const Module *m = &r->module;
    for (;;) {
        const uint32_t *at = definition(m, lane.id);
        if (!at) return lane;
        uint32_t op = op_of(at);
        if (op == SpvOpCopyObject) {
            lane.id = at[3];
        } else if (op == SpvOpCompositeExtract && length_of(at) == 5 && lanes_of(m, at[3]) > 1) {
            lane = (Lane){at[3], at[4]};
        } else if (op == SpvOpCompositeConstruct && lane.lane != SCALAR) {
            uint32_t word = 3;
            while (lane.lane >= lanes_of(m, at[word])) lane.lane -= lanes_of(m, at[word++]);
            lane = lane_of(r, at[word], lane.lane);
        } else if (op == SpvOpVectorShuffle && lane.lane != SCALAR && at[5 + lane.lane] != UINT32_MAX) {
            uint32_t taken = at[5 + lane.lane], left = lanes_of(m, at[3]);
            lane = taken < left ? (Lane){at[3], taken} : (Lane){at[4], taken - left};
        } else {
            return lane;
        }
    }
}

void lane_ids(Rewriter *r, const uint32_t *at, uint32_t lanes, uint32_t ids[4]) {
    for (uint32_t lane = 0; lane < lanes; lane++) ids[lane] = lanes == 1 ? at[2] : r->module.next++;
}

void put_lanes(Rewriter *r, const uint32_t *at, uint32_t lanes, const uint32_t ids[4]) {
    if (lanes == 1) return;
    uint32_t operands[6] = {at[1], at[2]};
    for (uint32_t lane = 0; lane < lanes; lane++) operands[2 + lane] = ids[lane];
    put(&r->module.body, SpvOpCompositeConstruct, 2 + lanes, operands);
}
