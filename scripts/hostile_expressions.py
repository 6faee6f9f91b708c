"""A shader with an expression for each thing that a mode of the layer of `scripts/hostile/` does, and what it must give.

`test_hostile.py` runs it. `EXPRESSIONS` is the table: assembly, the value that Python computes for a device with some
modes, and what the layer counts.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

LEAST_NORMAL = 2.0**-126
# What the layer counts, in its order, and what it has to count where a mode is on.
COUNTS = ("contracted", "reassociated", "divided", "flushed", "left alone", "of matrices")
CHANGES = {"fma": "contracted", "fma2": "contracted", "div": "divided", "assoc": "reassociated", "flush": "flushed"}
# FAdd, FSub, FMul, FDiv, VectorTimesScalar and Dot by their numbers, and what decorates them.
OPS, DECORATE, NO_CONTRACTION = {129, 131, 133, 136, 142, 148}, 71, 42
ARITHMETIC = r"OpFAdd|OpFSub|OpFMul|OpFDiv|OpFNegate|OpVectorTimesScalar|OpDot|OpFOrdLessThan|OpExtInst"


def f32(value: float) -> float:
    """The nearest f32. f64 has more than twice its digits: sum, product and quotient of two f32 are rounded once."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


class Device:
    """f32 arithmetic on a device with these modes."""

    def __init__(self, modes: str) -> None:
        self.modes = modes.split(",")
        self.right, self.contracts = "fma2" in self.modes, "fma" in self.modes or "fma2" in self.modes
        self.divides, self.associates = "div" in self.modes, "assoc" in self.modes
        self.inlines, self.flushes = "inline" in self.modes, "flush" in self.modes

    def flush(self, x: float) -> float:
        return math.copysign(0.0, x) if self.flushes and abs(x) < LEAST_NORMAL else x

    def mul(self, x: float, y: float) -> float:
        return self.flush(f32(self.flush(x) * self.flush(y)))

    def add(self, x: float, y: float) -> float:
        return self.flush(f32(self.flush(x) + self.flush(y)))

    def sub(self, x: float, y: float) -> float:
        return self.add(x, -y)

    def fused(self, x: float, y: float, z: float) -> float:
        return self.flush(f32(self.flush(x) * self.flush(y) + self.flush(z)))

    def fma(self, x: float, y: float, z: float, contracts: bool = True) -> float:
        return self.fused(x, y, z) if self.contracts and contracts else self.add(self.mul(x, y), z)

    def is_quotient(self, x: float, y: float, found: float) -> bool:
        """True for x / y, rounded; in the mode `div` for what is within Vulkan's 2.5 ulp. Extreme numbers are not compared."""
        if not (0.1 < abs(x) < 4 and 0.1 < abs(y) < 4):
            return True
        if not self.divides:
            return found == f32(x / y)
        true = Fraction(x) / Fraction(y)
        ulp = Fraction(2) ** (math.frexp(abs(float(true)))[1] - 24)
        return abs(Fraction(found) - true) <= ulp * 5 / 2


@dataclass
class Expression:
    """Assembly that gives %_r from the values %a, %b, %c and %d; other ids that begin with %_ are its own."""

    code: str
    # The value on a device with some modes; none for a division, which has several right ones.
    value: Callable[[Device, float, float, float, float], float] | None
    # What the layer counts in a mode, but for flushes; `inline+fma` is both modes.
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    no_contraction: tuple[str, ...] = ()

    def changes(self, device: Device) -> dict[str, int]:
        """What the layer counts on a device."""
        held = {"fma": device.contracts, "assoc": device.associates, "div": device.divides}
        held["inline+fma"] = device.inlines and device.contracts
        changes = {what: times for mode, some in self.counts.items() if held[mode] for what, times in some.items()}
        if device.flushes:
            changes["flushed"] = len(re.findall(ARITHMETIC, self.code))
        return changes

    def right(self, device: Device, a: float, b: float, c: float, d: float, found: float) -> bool:
        if self.value is None:
            return device.is_quotient(a, b, found)
        return struct.pack("<f", self.value(device, a, b, c, d)) == struct.pack("<f", found)


CONTRACTED = {"fma": {"contracted": 1}}
CONTRACTED_INLINE = {"inline+fma": {"contracted": 1}}
ALONE = {"fma": {"left alone": 1}}
REASSOCIATED = {"assoc": {"reassociated": 1}}
SUM_ALONE = {"assoc": {"left alone": 1}}
DIVIDED = {"div": {"divided": 1}}
P = "%_p = OpFMul %f32 %a %b\n"

EXPRESSIONS = {
    # Contraction.
    "ab + c": Expression(P + "%_r = OpFAdd %f32 %_p %c", lambda m, a, b, c, d: m.fma(a, b, c), CONTRACTED),
    "c - ab": Expression(P + "%_r = OpFSub %f32 %c %_p", lambda m, a, b, c, d: m.fma(-a, b, c), CONTRACTED),
    "ab - c": Expression(P + "%_r = OpFSub %f32 %_p %c", lambda m, a, b, c, d: m.fma(a, b, -c), CONTRACTED),
    "-ab + c": Expression(
        P + "%_n = OpFNegate %f32 %_p\n%_r = OpFAdd %f32 %_n %c", lambda m, a, b, c, d: m.fma(-a, b, c), CONTRACTED
    ),
    "ab + cd": Expression(
        P + "%_q = OpFMul %f32 %c %d\n%_r = OpFAdd %f32 %_p %_q",
        lambda m, a, b, c, d: m.fma(c, d, m.mul(a, b)) if m.right else m.fma(a, b, m.mul(c, d)), CONTRACTED,
    ),
    "precise ab, + cd": Expression(
        P + "%_q = OpFMul %f32 %c %d\n%_r = OpFAdd %f32 %_p %_q",
        lambda m, a, b, c, d: m.fma(c, d, m.mul(a, b)), CONTRACTED, ("%_p",),
    ),
    "precise ab, + c": Expression(
        P + "%_r = OpFAdd %f32 %_p %c", lambda m, a, b, c, d: m.fma(a, b, c, False), ALONE, ("%_p",)
    ),
    "precise ab + c": Expression(
        P + "%_r = OpFAdd %f32 %_p %c", lambda m, a, b, c, d: m.fma(a, b, c, False), ALONE, ("%_r",)
    ),
    # Lanes of vectors.
    "(vec(a, b) c + d).y": Expression(
        "%_v = OpCompositeConstruct %vec2 %a %b\n%_d = OpCompositeConstruct %vec2 %d %d\n"
        "%_p = OpVectorTimesScalar %vec2 %_v %c\n%_s = OpFAdd %vec2 %_p %_d\n%_r = OpCompositeExtract %f32 %_s 1",
        lambda m, a, b, c, d: m.fma(b, c, d), CONTRACTED,
    ),
    "a vector shuffled out of two products, .y - c": Expression(
        "%_v = OpCompositeConstruct %vec2 %a %b\n%_w = OpCompositeConstruct %vec2 %c %d\n%_p = OpFMul %vec2 %_v %_w\n"
        "%_q = OpVectorTimesScalar %vec2 %_w %a\n%_x = OpVectorShuffle %vec2 %_p %_q 1 3\n"
        "%_l = OpCompositeExtract %f32 %_x 1\n%_r = OpFSub %f32 %_l %c",
        lambda m, a, b, c, d: m.fma(d, a, -c), CONTRACTED,
    ),
    "vec(ab, c) + d, one lane of two": Expression(
        P + "%_v = OpCompositeConstruct %vec2 %_p %c\n%_d = OpCompositeConstruct %vec2 %d %d\n"
        "%_s = OpFAdd %vec2 %_v %_d\n%_x = OpCompositeExtract %f32 %_s 0\n%_y = OpCompositeExtract %f32 %_s 1\n%_r = OpFMul %f32 %_x %_y",
        lambda m, a, b, c, d: m.mul(m.fma(a, b, d), m.add(c, d)), CONTRACTED,
    ),
    "dot(vec(a, b), vec(c, d))": Expression(
        "%_v = OpCompositeConstruct %vec2 %a %b\n%_w = OpCompositeConstruct %vec2 %c %d\n%_r = OpDot %f32 %_v %_w",
        lambda m, a, b, c, d: m.fma(a, c, m.mul(b, d)) if m.right else m.fma(b, d, m.mul(a, c)), CONTRACTED,
    ),
    # Functions and variables, which `inline` looks through.
    "function(a, b) + c": Expression(
        "%_p = OpFunctionCall %f32 %product %a %b\n%_r = OpFAdd %f32 %_p %c",
        lambda m, a, b, c, d: m.fma(a, b, c, m.inlines), CONTRACTED_INLINE,
    ),
    "variable = ab, variable + c": Expression(
        P + "OpStore %variable %_p\n%_v = OpLoad %f32 %variable\n%_r = OpFAdd %f32 %_v %c",
        lambda m, a, b, c, d: m.fma(a, b, c, m.inlines), CONTRACTED_INLINE,
    ),
    # Sums.
    "(a + b) + c": Expression(
        "%_s = OpFAdd %f32 %a %b\n%_r = OpFAdd %f32 %_s %c",
        lambda m, a, b, c, d: m.add(a, m.add(b, c)) if m.associates else m.add(m.add(a, b), c), REASSOCIATED,
    ),
    "(a + b) - c": Expression(
        "%_s = OpFAdd %f32 %a %b\n%_r = OpFSub %f32 %_s %c",
        lambda m, a, b, c, d: m.add(a, m.sub(b, c)) if m.associates else m.sub(m.add(a, b), c), REASSOCIATED,
    ),
    "(a - b) + c": Expression(
        "%_s = OpFSub %f32 %a %b\n%_r = OpFAdd %f32 %_s %c",
        lambda m, a, b, c, d: m.sub(a, m.sub(b, c)) if m.associates else m.add(m.sub(a, b), c), REASSOCIATED,
    ),
    "(a - b) - c": Expression(
        "%_s = OpFSub %f32 %a %b\n%_r = OpFSub %f32 %_s %c",
        lambda m, a, b, c, d: m.sub(a, m.add(b, c)) if m.associates else m.sub(m.sub(a, b), c), REASSOCIATED,
    ),
    "a + (b - c)": Expression(
        "%_s = OpFSub %f32 %b %c\n%_r = OpFAdd %f32 %a %_s",
        lambda m, a, b, c, d: m.sub(m.add(a, b), c) if m.associates else m.add(a, m.sub(b, c)), REASSOCIATED,
    ),
    "a - (b - c)": Expression(
        "%_s = OpFSub %f32 %b %c\n%_r = OpFSub %f32 %a %_s",
        lambda m, a, b, c, d: m.add(m.sub(a, b), c) if m.associates else m.sub(a, m.sub(b, c)), REASSOCIATED,
    ),
    "precise (a + b), + c": Expression(
        "%_s = OpFAdd %f32 %a %b\n%_r = OpFAdd %f32 %_s %c",
        lambda m, a, b, c, d: m.add(m.add(a, b), c), SUM_ALONE, ("%_s",),
    ),
    "precise (a + b) + c": Expression(
        "%_s = OpFAdd %f32 %a %b\n%_r = OpFAdd %f32 %_s %c",
        lambda m, a, b, c, d: m.add(m.add(a, b), c), SUM_ALONE, ("%_r",),
    ),
    # Divisions.
    "a / b": Expression("%_r = OpFDiv %f32 %a %b", None, DIVIDED),
    "precise a / b": Expression("%_r = OpFDiv %f32 %a %b", None, DIVIDED, ("%_r",)),
    "(vec(b, a) / vec(a, b)).y": Expression(
        "%_v = OpCompositeConstruct %vec2 %b %a\n%_w = OpCompositeConstruct %vec2 %a %b\n%_q = OpFDiv %vec2 %_v %_w\n"
        "%_r = OpCompositeExtract %f32 %_q 1", None, DIVIDED, ("%_q",),
    ),
    # Denormals: what moves a value leaves it as it is.
    "a": Expression("%_r = OpCopyObject %f32 %a", lambda m, a, b, c, d: a),
    "bits of a": Expression("%_i = OpBitcast %u32 %a\n%_r = OpBitcast %f32 %_i", lambda m, a, b, c, d: a),
    "a < b ? c : d": Expression(
        "%_l = OpFOrdLessThan %bool %a %b\n%_r = OpSelect %f32 %_l %c %d",
        lambda m, a, b, c, d: c if m.flush(a) < m.flush(b) else d,
    ),
    "abs(a)": Expression("%_r = OpExtInst %f32 %glsl FAbs %a", lambda m, a, b, c, d: abs(m.flush(a))),
    "-a": Expression("%_r = OpFNegate %f32 %a", lambda m, a, b, c, d: -m.flush(a)),
    # A flushed copy of a value that is made in one block may not be used in another.
    "a + (b < c ? -a : b)": Expression(
        "%_x = OpCopyObject %f32 %a\nOpStore %variable %b\n%_l = OpFOrdLessThan %bool %b %c\n"
        "OpSelectionMerge %_after None\nOpBranchConditional %_l %_less %_after\n%_less = OpLabel\n"
        "%_n = OpFNegate %f32 %_x\nOpStore %variable %_n\nOpBranch %_after\n%_after = OpLabel\n"
        "%_v = OpLoad %f32 %variable\n%_r = OpFAdd %f32 %_x %_v",
        lambda m, a, b, c, d: m.add(a, -a if m.flush(b) < m.flush(c) else b),
    ),
    "a 2^-64 2^-64": Expression(
        "%_p = OpFMul %f32 %a %tiny\n%_r = OpFMul %f32 %_p %tiny",
        lambda m, a, b, c, d: m.mul(m.mul(a, 2.0**-64), 2.0**-64),
    ),
}

SHADER = """
OpCapability Shader
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %thread
OpExecutionMode %main LocalSize 64 1 1
OpDecorate %thread BuiltIn GlobalInvocationId
OpDecorate %floats ArrayStride 4
OpDecorate %buffer Block
OpMemberDecorate %buffer 0 Offset 0
OpDecorate %given DescriptorSet 0
OpDecorate %given Binding 0
OpDecorate %made DescriptorSet 0
OpDecorate %made Binding 1
{decorations}
%void = OpTypeVoid
%bool = OpTypeBool
%u32 = OpTypeInt 32 0
%f32 = OpTypeFloat 32
%vec2 = OpTypeVector %f32 2
%uvec3 = OpTypeVector %u32 3
%procedure = OpTypeFunction %void
%binary = OpTypeFunction %f32 %f32 %f32
%floats = OpTypeRuntimeArray %f32
%buffer = OpTypeStruct %floats
%to_buffer = OpTypePointer StorageBuffer %buffer
%to_element = OpTypePointer StorageBuffer %f32
%to_thread = OpTypePointer Input %uvec3
%to_local = OpTypePointer Function %f32
%tiny = OpConstant %f32 0x1p-64
{numbers}
%given = OpVariable %to_buffer StorageBuffer
%made = OpVariable %to_buffer StorageBuffer
%thread = OpVariable %to_thread Input
%product = OpFunction %f32 None %binary
%x = OpFunctionParameter %f32
%y = OpFunctionParameter %f32
%product_begin = OpLabel
%xy = OpFMul %f32 %x %y
OpReturnValue %xy
OpFunctionEnd
%main = OpFunction %void None %procedure
%main_begin = OpLabel
%variable = OpVariable %to_local Function
%threads = OpLoad %uvec3 %thread
%index = OpCompositeExtract %u32 %threads 0
{code}
OpReturn
OpFunctionEnd
"""


def assembly() -> str:
    code, decorations = [], []
    for element, name in enumerate("abcd"):
        code += [
            f"%{name}_first = OpIMul %u32 %index %n4",
            f"%{name}_index = OpIAdd %u32 %{name}_first %n{element}",
            f"%{name}_pointer = OpAccessChain %to_element %given %n0 %{name}_index",
            f"%{name} = OpLoad %f32 %{name}_pointer",
        ]
    for number, expression in enumerate(EXPRESSIONS.values()):
        own = f"%e{number}_"
        code += [
            expression.code.replace("%_", own),
            f"%o{number}_first = OpIMul %u32 %index %n{len(EXPRESSIONS)}",
            f"%o{number}_index = OpIAdd %u32 %o{number}_first %n{number}",
            f"%o{number} = OpAccessChain %to_element %made %n0 %o{number}_index",
            f"OpStore %o{number} {own}r",
        ]
        decorations += [f"OpDecorate {each.replace('%_', own)} NoContraction" for each in expression.no_contraction]
    numbers = [f"%n{number} = OpConstant %u32 {number}" for number in range(len(EXPRESSIONS) + 1)]
    return SHADER.format(decorations="\n".join(decorations), numbers="\n".join(numbers), code="\n".join(code))


def precise(module: bytes) -> int:
    """How many instructions of arithmetic have the decoration NoContraction."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    decorated, found, at = set(), 0, 5
    while at < len(words):
        op, length = words[at] & 0xFFFF, words[at] >> 16
        if op == DECORATE and words[at + 2] == NO_CONTRACTION:
            decorated.add(words[at + 1])
        found += op in OPS and words[at + 2] in decorated
        at += length
    return found


def expected_counts(modes: str) -> dict[str, int]:
    """What the layer has to count in the shader."""
    device, counts = Device(modes), dict.fromkeys(COUNTS, 0)
    for expression in EXPRESSIONS.values():
        for what, times in expression.changes(device).items():
            counts[what] += times
    # The product in the function.
    counts["flushed"] += device.flushes
    return counts
