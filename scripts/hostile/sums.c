// What is not seen, and so not contracted or reassociated: products and sums that come out of a variable, a function's
// parameter or its result, and what a loop carries from turn to turn. naga writes each `var` as a variable and each
// function as one; with the mode `inline`, as in every driver, they are values before they come here, and only what a
// loop carries is left. Nor are the extended instructions Fma, FMix and SmoothStep looked into; naga writes `fma`,
// `mix` and `smoothstep` by them.
#include "sums.h"

#include <spirv/unified1/spirv.h>

typedef struct {
    Lane a, b;
    bool negative, no_contraction;
} Product;

typedef enum { ABSENT, LEFT_ALONE, CHANGED } Outcome;

static bool is_product(const Rewriter *r, Lane lane, Product *product) {
    *product = (Product){0};
    for (;;) {
        lane = resolve(r, lane);
        const uint32_t *at = definition(&r->module, lane.id);
        if (!at) return false;
        product->no_contraction |= r->module.no_contraction[lane.id];
        if (op_of(at) == SpvOpFMul || op_of(at) == SpvOpVectorTimesScalar) {
            product->a = lane_of(r, at[3], lane.lane);
            product->b = lane_of(r, at[4], lane.lane);
            return true;
        }
        if (op_of(at) != SpvOpFNegate) return false;
        product->negative = !product->negative;
        lane.id = at[3];
    }
}

// Writes product + c, or another sum of the two, as one operation. f64 holds the product exactly. Its sum with c is
// rounded to f64 and then to f32, which is not fma's single rounding in about one case of 2^29.
static void put_contracted(Rewriter *r, const Product *product, uint32_t op, bool left, uint32_t addend,
                           uint32_t result) {
    Module *m = &r->module;
    uint32_t type = type_float64(m), a = wide(r, product->a), b = wide(r, product->b);
    uint32_t of_product = m->next++, sum = m->next++;
    PUT(&m->body, SpvOpFMul, type, of_product, a, b);
    if (product->negative) {
        uint32_t negative = m->next++;
        PUT(&m->body, SpvOpFNegate, type, negative, of_product);
        of_product = negative;
    }
    PUT(&m->body, op, type, sum, left ? of_product : addend, left ? addend : of_product);
    put_arithmetic(r, SpvOpFConvert, sum, 0, result);
}

static Outcome contract(Rewriter *r, uint32_t op, Lane x, Lane y, uint32_t result) {
    Product products[2];
    bool found[] = {is_product(r, x, &products[0]), is_product(r, y, &products[1])};
    if (!found[0] && !found[1]) return ABSENT;
    bool may[2];
    for (int side = 0; side < 2; side++) {
        may[side] = found[side] && !r->no_contraction && !products[side].no_contraction;
    }
    if (!may[0] && !may[1]) return LEFT_ALONE;
    bool left = may[0] && !(may[1] && r->modes->fma_right);
    put_contracted(r, &products[!left], op, left, wide(r, left ? y : x), result);
    return CHANGED;
}

static bool is_sum(const uint32_t *at) { return at && (op_of(at) == SpvOpFAdd || op_of(at) == SpvOpFSub); }

// (a + b) + c as a + (b + c), else a + (b + c) as (a + b) + c; the same with minus.
static Outcome associate(Rewriter *r, uint32_t op, Lane x, Lane y, uint32_t result) {
    Module *m = &r->module;
    Lane sides[] = {resolve(r, x), resolve(r, y)};
    Outcome outcome = ABSENT;
    for (int side = 0; side < 2; side++) {
        const uint32_t *at = definition(m, sides[side].id);
        if (!is_sum(at)) continue;
        if (r->no_contraction || m->no_contraction[sides[side].id]) {
            outcome = LEFT_ALONE;
            continue;
        }
        uint32_t a = scalar(r, lane_of(r, at[3], sides[side].lane)), b = scalar(r, lane_of(r, at[4], sides[side].lane));
        uint32_t c = scalar(r, side ? x : y), same = op_of(at) == op ? SpvOpFAdd : SpvOpFSub, inner = m->next++;
        if (side == 0) {
            put_arithmetic(r, same, b, c, inner);
            put_arithmetic(r, op_of(at), a, inner, result);
        } else {
            put_arithmetic(r, op, c, a, inner);
            put_arithmetic(r, same, inner, b, result);
        }
        return CHANGED;
    }
    return outcome;
}

bool rewrite_sum(Rewriter *r, const uint32_t *at, uint32_t lanes) {
    bool contracts = r->modes->fma || r->modes->fma_right;
    bool contracted = false, reassociated = false, left_alone = false;
    Outcome outcome[4];
    uint32_t ids[4], before = r->module.next;
    lane_ids(r, at, lanes, ids);
    for (uint32_t lane = 0; lane < lanes; lane++) {
        Lane x = lane_of(r, at[3], lane), y = lane_of(r, at[4], lane);
        outcome[lane] = contracts ? contract(r, op_of(at), x, y, ids[lane]) : ABSENT;
        contracted |= outcome[lane] == CHANGED;
        left_alone |= outcome[lane] == LEFT_ALONE;
        if (outcome[lane] == CHANGED || !r->modes->associate) continue;
        outcome[lane] = associate(r, op_of(at), x, y, ids[lane]);
        reassociated |= outcome[lane] == CHANGED;
        left_alone |= outcome[lane] == LEFT_ALONE;
    }
    r->counts->contracted += contracted;
    r->counts->reassociated += reassociated;
    r->counts->left_alone += left_alone;
    if (!contracted && !reassociated) {
        r->module.next = before;
        return false;
    }
    for (uint32_t lane = 0; lane < lanes; lane++) {
        if (outcome[lane] == CHANGED) continue;
        uint32_t a = scalar(r, lane_of(r, at[3], lane)), b = scalar(r, lane_of(r, at[4], lane));
        put_arithmetic(r, op_of(at), a, b, ids[lane]);
    }
    put_lanes(r, at, lanes, ids);
    return true;
}

bool rewrite_dot(Rewriter *r, const uint32_t *at) {
    Module *m = &r->module;
    bool contracts = r->modes->fma || r->modes->fma_right, contracted = contracts && !r->no_contraction;
    r->counts->left_alone += contracts && !contracted;
    if (!contracted && !r->modes->flush) return false;
    uint32_t lanes = lanes_of(m, at[3]), total = 0;
    for (uint32_t i = 0; i < lanes; i++) {
        uint32_t lane = r->modes->fma_right ? lanes - 1 - i : i, result = i + 1 == lanes ? at[2] : m->next++;
        Product product = {.a = {at[3], lane}, .b = {at[4], lane}};
        if (i > 0 && contracted) {
            uint32_t type = type_float64(m), addend = m->next++;
            PUT(&m->body, SpvOpFConvert, type, addend, total);
            put_contracted(r, &product, SpvOpFAdd, true, addend, result);
        } else {
            uint32_t a = scalar(r, product.a), b = scalar(r, product.b), rounded = i ? m->next++ : result;
            put_arithmetic(r, SpvOpFMul, a, b, rounded);
            if (i) put_arithmetic(r, SpvOpFAdd, total, rounded, result);
        }
        total = result;
    }
    r->counts->contracted += contracted;
    return true;
}
