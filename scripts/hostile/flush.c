#include "flush.h"

#include <spirv/unified1/spirv.h>

enum { EXPONENT = 0x7f800000, SIGN = 0x80000000 };

// Vulkan forbids to flush in instructions that move values (loads, stores, selects, phis, calls, composites), in
// OpBitcast and in constants. Every other one may flush, extended instructions, too. Conversions to and from integers
// are left out, since it makes no difference to them. Group operations, atomics and derivatives are left out, too: naga
// writes none of those for f32 here.
bool may_flush(const Module *module, const uint32_t *instruction) {
    switch (op_of(instruction)) {
        case SpvOpFNegate:
        case SpvOpFAdd:
        case SpvOpFSub:
        case SpvOpFMul:
        case SpvOpFDiv:
        case SpvOpFRem:
        case SpvOpFMod:
        case SpvOpVectorTimesScalar:
        case SpvOpMatrixTimesScalar:
        case SpvOpVectorTimesMatrix:
        case SpvOpMatrixTimesVector:
        case SpvOpOuterProduct:
        case SpvOpDot:
        case SpvOpFConvert:
        case SpvOpQuantizeToF16:
        case SpvOpFOrdEqual:
        case SpvOpFUnordEqual:
        case SpvOpFOrdNotEqual:
        case SpvOpFUnordNotEqual:
        case SpvOpFOrdLessThan:
        case SpvOpFUnordLessThan:
        case SpvOpFOrdGreaterThan:
        case SpvOpFUnordGreaterThan:
        case SpvOpFOrdLessThanEqual:
        case SpvOpFUnordLessThanEqual:
        case SpvOpFOrdGreaterThanEqual:
        case SpvOpFUnordGreaterThanEqual: return true;
        case SpvOpExtInst: return instruction[3] == module->glsl;
        default: return false;
    }
}

uint32_t first_operand(const uint32_t *instruction) { return op_of(instruction) == SpvOpExtInst ? 5 : 3; }

bool is_normal(const Module *module, uint32_t id) {
    const uint32_t *at = definition(module, id);
    if (!at) return false;
    switch (op_of(at)) {
        case SpvOpConstant: return at[3] & EXPONENT || !(at[3] & ~(uint32_t)SIGN);
        case SpvOpConstantComposite:
            for (uint32_t word = 3; word < length_of(at); word++) {
                if (!is_normal(module, at[word])) return false;
            }
            return true;
        case SpvOpConstantNull:
        case SpvOpConvertSToF:
        case SpvOpConvertUToF: return true;
        default: return false;
    }
}

void put_flush(Module *module, uint32_t type, uint32_t lanes, uint32_t value, uint32_t result) {
    uint32_t integer = type_uint(module, lanes);
    uint32_t bits = module->next++, exponent = module->next++, denormal = module->next++;
    uint32_t sign = module->next++, flushed = module->next++;
    PUT(&module->body, SpvOpBitcast, integer, bits, value);
    PUT(&module->body, SpvOpBitwiseAnd, integer, exponent, bits, constant_uint(module, lanes, EXPONENT));
    PUT(&module->body, SpvOpIEqual, type_bool(module, lanes), denormal, exponent, constant_uint(module, lanes, 0));
    PUT(&module->body, SpvOpBitwiseAnd, integer, sign, bits, constant_uint(module, lanes, SIGN));
    PUT(&module->body, SpvOpSelect, integer, flushed, denormal, sign, bits);
    PUT(&module->body, SpvOpBitcast, type, result, flushed);
}
