#include "module.h"

#include <stdlib.h>
#include <string.h>

#define SPV_ENABLE_UTILITY_CODE
#include <spirv/unified1/spirv.h>

// The header's inline function, for this library.
extern void SpvHasResultAndType(SpvOp opcode, bool *hasResult, bool *hasResultType);

enum { HEADER = 5, BOUND = 3 };

static void put_word(Words *out, uint32_t word) {
    if (out->count == out->capacity) {
        out->capacity = out->capacity ? 2 * out->capacity : 1024;
        out->words = realloc(out->words, out->capacity * sizeof *out->words);
        if (!out->words) abort();
    }
    out->words[out->count++] = word;
}

static void put_words(Words *out, const uint32_t *words, size_t count) {
    for (size_t i = 0; i < count; i++) put_word(out, words[i]);
}

void put(Words *out, uint32_t op, size_t operands, const uint32_t *operand) {
    put_word(out, (uint32_t)(operands + 1) << SpvWordCountShift | op);
    put_words(out, operand, operands);
}

uint32_t op_of(const uint32_t *instruction) { return *instruction & SpvOpCodeMask; }
uint32_t length_of(const uint32_t *instruction) { return *instruction >> SpvWordCountShift; }

const uint32_t *definition(const Module *module, uint32_t id) {
    return id < module->bound ? module->definitions[id] : NULL;
}

// Notes what an instruction before or in a function says of ids.
static void note(Module *module, const uint32_t *at) {
    bool has_result, has_type;
    SpvHasResultAndType((SpvOp)op_of(at), &has_result, &has_type);
    if (has_result) module->definitions[at[has_type ? 2 : 1]] = at;
    switch (op_of(at)) {
        case SpvOpCapability: module->has_float64 |= at[1] == SpvCapabilityFloat64; break;
        case SpvOpExtInstImport:
            if (!strcmp((const char *)&at[2], "GLSL.std.450")) module->glsl = at[1];
            break;
        case SpvOpDecorate:
            if (at[2] == SpvDecorationNoContraction) module->no_contraction[at[1]] = true;
            break;
        case SpvOpTypeFloat:
            if (at[2] == 32) module->f32 = at[1];
            break;
    }
}

static bool is_before_types(uint32_t op) {
    switch (op) {
        case SpvOpCapability:
        case SpvOpExtension:
        case SpvOpExtInstImport:
        case SpvOpMemoryModel:
        case SpvOpEntryPoint:
        case SpvOpExecutionMode:
        case SpvOpExecutionModeId:
        case SpvOpString:
        case SpvOpSource:
        case SpvOpSourceContinued:
        case SpvOpSourceExtension:
        case SpvOpName:
        case SpvOpMemberName:
        case SpvOpModuleProcessed:
        case SpvOpDecorate:
        case SpvOpDecorateId:
        case SpvOpDecorateString:
        case SpvOpMemberDecorate:
        case SpvOpMemberDecorateString:
        case SpvOpDecorationGroup:
        case SpvOpGroupDecorate:
        case SpvOpGroupMemberDecorate: return true;
        default: return false;
    }
}

bool module_read(Module *module, const uint32_t *words, size_t count) {
    *module = (Module){.in = words, .words = count};
    if (count < HEADER || words[0] != SpvMagicNumber) return false;
    module->bound = module->next = words[BOUND];
    module->definitions = calloc(module->bound, sizeof *module->definitions);
    module->no_contraction = calloc(module->bound, sizeof *module->no_contraction);
    if (!module->definitions || !module->no_contraction) abort();
    for (size_t at = HEADER; at < count; at += length_of(&words[at])) {
        if (!length_of(&words[at]) || at + length_of(&words[at]) > count) return false;
        if (!module->annotations_end && !is_before_types(op_of(&words[at]))) module->annotations_end = at;
        if (!module->functions && op_of(&words[at]) == SpvOpFunction) module->functions = at;
        note(module, &words[at]);
    }
    return module->f32 && module->functions;
}

Words module_write(const Module *module) {
    Words out = {0};
    put_words(&out, module->in, HEADER);
    out.words[BOUND] = module->next;
    if (module->needs_float64 && !module->has_float64) PUT(&out, SpvOpCapability, SpvCapabilityFloat64);
    put_words(&out, &module->in[HEADER], module->annotations_end - HEADER);
    put_words(&out, module->decorations.words, module->decorations.count);
    put_words(&out, &module->in[module->annotations_end], module->functions - module->annotations_end);
    put_words(&out, module->types.words, module->types.count);
    put_words(&out, module->body.words, module->body.count);
    return out;
}

void module_free(Module *module) {
    free(module->definitions);
    free(module->no_contraction);
    free(module->decorations.words);
    free(module->types.words);
    free(module->body.words);
}

uint32_t lanes_of_type(const Module *module, uint32_t type) {
    const uint32_t *at = definition(module, type);
    if (type == module->f32) return 1;
    return at && op_of(at) == SpvOpTypeVector && at[2] == module->f32 ? at[3] : 0;
}

uint32_t lanes_of(const Module *module, uint32_t id) {
    const uint32_t *at = definition(module, id);
    bool has_result = false, has_type = false;
    if (at) SpvHasResultAndType((SpvOp)op_of(at), &has_result, &has_type);
    return has_type ? lanes_of_type(module, at[1]) : 0;
}

// The id of a type or a constant, added where the module has none: no type may be declared twice. `result` is the
// operand that is the id.
static uint32_t declared(Module *module, uint32_t op, size_t result, size_t operands, uint32_t *operand) {
    const uint32_t *sections[] = {&module->in[module->annotations_end], module->types.words};
    size_t counts[] = {module->functions - module->annotations_end, module->types.count};
    for (int section = 0; section < 2; section++) {
        for (size_t at = 0; at < counts[section]; at += length_of(&sections[section][at])) {
            const uint32_t *found = &sections[section][at];
            if (op_of(found) != op || length_of(found) != operands + 1) continue;
            operand[result] = found[1 + result];
            if (!memcmp(operand, found + 1, operands * sizeof *operand)) return operand[result];
        }
    }
    operand[result] = module->next++;
    put(&module->types, op, operands, operand);
    return operand[result];
}
#define DECLARED(module, op, result, ...) \
    declared(module, op, result, sizeof((uint32_t[]){__VA_ARGS__}) / 4, (uint32_t[]){__VA_ARGS__})

static uint32_t vector(Module *module, uint32_t scalar, uint32_t lanes) {
    return lanes == 1 ? scalar : DECLARED(module, SpvOpTypeVector, 0, 0, scalar, lanes);
}

uint32_t type_float64(Module *module) {
    module->needs_float64 = true;
    return DECLARED(module, SpvOpTypeFloat, 0, 0, 64);
}

uint32_t type_uint(Module *module, uint32_t lanes) {
    return vector(module, DECLARED(module, SpvOpTypeInt, 0, 0, 32, 0), lanes);
}

uint32_t type_bool(Module *module, uint32_t lanes) {
    return vector(module, DECLARED(module, SpvOpTypeBool, 0, 0), lanes);
}

uint32_t constant_uint(Module *module, uint32_t lanes, uint32_t number) {
    uint32_t scalar = DECLARED(module, SpvOpConstant, 1, type_uint(module, 1), 0, number);
    if (lanes == 1) return scalar;
    uint32_t operands[] = {type_uint(module, lanes), 0, scalar, scalar, scalar, scalar};
    return declared(module, SpvOpConstantComposite, 1, 2 + lanes, operands);
}

uint32_t constant_float(Module *module, uint32_t bits) {
    return DECLARED(module, SpvOpConstant, 1, module->f32, 0, bits);
}
