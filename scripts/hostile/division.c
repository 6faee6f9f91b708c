#include "division.h"

#include <spirv/unified1/spirv.h>

// The reciprocal of a scalar, half an ulp to one ulp off: the second-best f32, so that a times it is within the 2.5 ulp
// that Vulkan allows a division. b * (1 / b) in f64, which is exact, says on which side of the true reciprocal the best
// one is.
static uint32_t put_reciprocal(Rewriter *r, uint32_t b) {
    Module *m = &r->module;
    uint32_t f64 = type_float64(m), u32 = type_uint(m, 1), boolean = type_bool(m, 1);
    uint32_t one = constant_float(m, 0x3f800000), unit = constant_uint(m, 1, 1), zero = constant_uint(m, 1, 0);
    uint32_t exponent_bits = constant_uint(m, 1, 0x7f800000);
    uint32_t best = m->next++, wide_b = m->next++, wide_best = m->next++, wide_one = m->next++, back = m->next++;
    PUT(&m->body, SpvOpFDiv, m->f32, best, one, b);
    PUT(&m->body, SpvOpFConvert, f64, wide_b, b);
    PUT(&m->body, SpvOpFConvert, f64, wide_best, best);
    PUT(&m->body, SpvOpFConvert, f64, wide_one, one);
    PUT(&m->body, SpvOpFMul, f64, back, wide_b, wide_best);
    uint32_t below = m->next++, bits = m->next++, up = m->next++, down = m->next++, moved = m->next++;
    PUT(&m->body, SpvOpFOrdLessThanEqual, boolean, below, back, wide_one);
    PUT(&m->body, SpvOpBitcast, u32, bits, best);
    PUT(&m->body, SpvOpIAdd, u32, up, bits, unit);
    PUT(&m->body, SpvOpISub, u32, down, bits, unit);
    PUT(&m->body, SpvOpSelect, u32, moved, below, up, down);
    // Zeros, denormals, infinities and NaN stay what they are.
    uint32_t exponent = m->next++, least = m->next++, most = m->next++, special = m->next++;
    uint32_t chosen = m->next++, result = m->next++;
    PUT(&m->body, SpvOpBitwiseAnd, u32, exponent, bits, exponent_bits);
    PUT(&m->body, SpvOpIEqual, boolean, least, exponent, zero);
    PUT(&m->body, SpvOpIEqual, boolean, most, exponent, exponent_bits);
    PUT(&m->body, SpvOpLogicalOr, boolean, special, least, most);
    PUT(&m->body, SpvOpSelect, u32, chosen, special, bits, moved);
    PUT(&m->body, SpvOpBitcast, m->f32, result, chosen);
    return result;
}

void rewrite_division(Rewriter *r, const uint32_t *at, uint32_t lanes) {
    uint32_t ids[4];
    lane_ids(r, at, lanes, ids);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint32_t a = scalar(r, lane_of(r, at[3], lane)), b = scalar(r, lane_of(r, at[4], lane));
        put_arithmetic(r, SpvOpFMul, a, put_reciprocal(r, b), ids[lane]);
    }
    put_lanes(r, at, lanes, ids);
    r->counts->divided++;
}
