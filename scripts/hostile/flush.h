// Denormal numbers become zero, as on a device that has none.
#pragma once

#include "module.h"

// True if the instruction may flush, by "Precision and Operation of SPIR-V Instructions" of Vulkan's specification.
bool may_flush(const Module *module, const uint32_t *instruction);

// The word at which the operands of such an instruction begin.
uint32_t first_operand(const uint32_t *instruction);

// True if a value of the module that is read is known to be no denormal: a constant, or an integer that was converted.
bool is_normal(const Module *module, uint32_t id);

// Writes `result`: `value` with the same sign and zero in the place of a denormal.
void put_flush(Module *module, uint32_t type, uint32_t lanes, uint32_t value, uint32_t result);
