#!/usr/bin/env python3
"""Tests the Vulkan layer of `scripts/hostile/`: what it makes of shaders, and what devices say of themselves under it.

    scripts/test_hostile.py [FOLDER]     FOLDER: naga's SPIR-V as `scripts/test-translations.sh` has it written; each module is
                                         rewritten in each mode and shown to spirv-val

A shader of our own has an expression for each thing that a mode does. It is rewritten in each mode, spirv-val has to take it, the
layer has to count what it changed as the table below does, and on lavapipe under the layer each value has to be the one that
Python computes. Needs no Rust; `scripts/hostile_layer.py` says what it needs.
"""

from __future__ import annotations

import ctypes
import math
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import compute
import hostile_layer
from translations import BROKEN_SPIRV

MODES = ["", "fma", "fma2", "div", "assoc", "flush", "fma2,div", "fma,div,assoc", "fma,assoc,flush", "fma2,div,flush", "inline", "inline,fma", "inline,fma2,div,assoc,flush"]
LEAST_NORMAL, SAMPLES = 2.0**-126, 1024
COUNTS = ("contracted", "reassociated", "divided", "flushed", "left alone", "of matrices")
ARITHMETIC = r"OpFAdd|OpFSub|OpFMul|OpFDiv|OpFNegate|OpVectorTimesScalar|OpDot|OpFOrdLessThan|OpExtInst"


def f32(value: float) -> float:
    """The nearest f32. f64 has more than twice its digits, so that sum, product and quotient of two f32 are rounded once."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


class Device:
    """f32 arithmetic on a device with these modes."""

    def __init__(self, modes: str) -> None:
        self.modes = modes.split(",")
        self.right, self.contracts = "fma2" in self.modes, "fma" in self.modes or "fma2" in self.modes
        self.associates, self.inlines, self.flushes = "assoc" in self.modes, "inline" in self.modes, "flush" in self.modes

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


@dataclass
class Expression:
    """Assembly that gives %_r from the values %a, %b, %c and %d; other ids that begin with %_ are its own."""

    code: str
    # The value, or True for a value that is right, given the device, the inputs, and the value that it gave.
    value: Callable[[Device, float, float, float, float], float] | None = None
    # What is counted in the modes that begin with such a name.
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    no_contraction: tuple[str, ...] = ()


def contracted(times: int = 1) -> dict[str, dict[str, int]]:
    return {"fma": {"contracted": times}}


ALONE = {"fma": {"left alone": 1}}
REASSOCIATED = {"assoc": {"reassociated": 1}}
SUM_ALONE = {"assoc": {"left alone": 1}}
DIVIDED = {"div": {"divided": 1}}
P = "%_p = OpFMul %f32 %a %b\n"

EXPRESSIONS = {
    # Contraction.
    "ab + c": Expression(P + "%_r = OpFAdd %f32 %_p %c", lambda m, a, b, c, d: m.fma(a, b, c), contracted()),
    "c - ab": Expression(P + "%_r = OpFSub %f32 %c %_p", lambda m, a, b, c, d: m.fma(-a, b, c), contracted()),
    "ab - c": Expression(P + "%_r = OpFSub %f32 %_p %c", lambda m, a, b, c, d: m.fma(a, b, -c), contracted()),
    "-ab + c": Expression(
        P + "%_n = OpFNegate %f32 %_p\n%_r = OpFAdd %f32 %_n %c", lambda m, a, b, c, d: m.fma(-a, b, c), contracted()
    ),
    "ab + cd": Expression(
        P + "%_q = OpFMul %f32 %c %d\n%_r = OpFAdd %f32 %_p %_q",
        lambda m, a, b, c, d: m.fma(c, d, m.mul(a, b)) if m.right else m.fma(a, b, m.mul(c, d)), contracted(),
    ),
    "precise ab, + cd": Expression(
        P + "%_q = OpFMul %f32 %c %d\n%_r = OpFAdd %f32 %_p %_q", lambda m, a, b, c, d: m.fma(c, d, m.mul(a, b)), contracted(), ("%_p",)
    ),
    "precise ab, + c": Expression(P + "%_r = OpFAdd %f32 %_p %c", lambda m, a, b, c, d: m.fma(a, b, c, False), ALONE, ("%_p",)),
    "precise ab + c": Expression(P + "%_r = OpFAdd %f32 %_p %c", lambda m, a, b, c, d: m.fma(a, b, c, False), ALONE, ("%_r",)),
    # Lanes of vectors.
    "(vec(a, b) c + d).y": Expression(
        "%_v = OpCompositeConstruct %vec2 %a %b\n%_d = OpCompositeConstruct %vec2 %d %d\n%_p = OpVectorTimesScalar %vec2 %_v %c\n"
        "%_s = OpFAdd %vec2 %_p %_d\n%_r = OpCompositeExtract %f32 %_s 1",
        lambda m, a, b, c, d: m.fma(b, c, d), contracted(),
    ),
    "(vec(a, b) vec(c, d)).yx.x - c": Expression(
        "%_v = OpCompositeConstruct %vec2 %a %b\n%_w = OpCompositeConstruct %vec2 %c %d\n%_p = OpFMul %vec2 %_v %_w\n"
        "%_x = OpVectorShuffle %vec2 %_p %_p 1 2\n%_l = OpCompositeExtract %f32 %_x 0\n%_r = OpFSub %f32 %_l %c",
        lambda m, a, b, c, d: m.fma(b, d, -c), contracted(),
    ),
    "vec(ab, c) + d, one lane of two": Expression(
        P + "%_v = OpCompositeConstruct %vec2 %_p %c\n%_d = OpCompositeConstruct %vec2 %d %d\n%_s = OpFAdd %vec2 %_v %_d\n"
        "%_x = OpCompositeExtract %f32 %_s 0\n%_y = OpCompositeExtract %f32 %_s 1\n%_r = OpFMul %f32 %_x %_y",
        lambda m, a, b, c, d: m.mul(m.fma(a, b, d), m.add(c, d)), contracted(),
    ),
    "dot(vec(a, b), vec(c, d))": Expression(
        "%_v = OpCompositeConstruct %vec2 %a %b\n%_w = OpCompositeConstruct %vec2 %c %d\n%_r = OpDot %f32 %_v %_w",
        lambda m, a, b, c, d: m.fma(a, c, m.mul(b, d)) if m.right else m.fma(b, d, m.mul(a, c)), contracted(),
    ),
    # Functions and variables, which `inline` looks through.
    "function(a, b) + c": Expression(
        "%_p = OpFunctionCall %f32 %product %a %b\n%_r = OpFAdd %f32 %_p %c",
        lambda m, a, b, c, d: m.fma(a, b, c, m.inlines), {"inline+fma": {"contracted": 1}},
    ),
    "variable = ab, variable + c": Expression(
        P + "OpStore %variable %_p\n%_v = OpLoad %f32 %variable\n%_r = OpFAdd %f32 %_v %c",
        lambda m, a, b, c, d: m.fma(a, b, c, m.inlines), {"inline+fma": {"contracted": 1}},
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
        "%_s = OpFAdd %f32 %a %b\n%_r = OpFAdd %f32 %_s %c", lambda m, a, b, c, d: m.add(m.add(a, b), c), SUM_ALONE, ("%_s",)
    ),
    "precise (a + b) + c": Expression(
        "%_s = OpFAdd %f32 %a %b\n%_r = OpFAdd %f32 %_s %c", lambda m, a, b, c, d: m.add(m.add(a, b), c), SUM_ALONE, ("%_r",)
    ),
    # Divisions, which are not computed here: `wrong_quotient` says what is right.
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
        "%_l = OpFOrdLessThan %bool %a %b\n%_r = OpSelect %f32 %_l %c %d", lambda m, a, b, c, d: c if m.flush(a) < m.flush(b) else d
    ),
    "abs(a)": Expression("%_r = OpExtInst %f32 %glsl FAbs %a", lambda m, a, b, c, d: abs(m.flush(a))),
    "-a": Expression("%_r = OpFNegate %f32 %a", lambda m, a, b, c, d: -m.flush(a)),
    "a 2^-64 2^-64": Expression(
        "%_p = OpFMul %f32 %a %tiny\n%_r = OpFMul %f32 %_p %tiny", lambda m, a, b, c, d: m.mul(m.mul(a, 2.0**-64), 2.0**-64)
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
        code.append(f"%{name}_at = OpIMul %u32 %index %n4\n%{name}_index = OpIAdd %u32 %{name}_at %n{element}")
        code.append(f"%{name}_pointer = OpAccessChain %to_element %given %n0 %{name}_index\n%{name} = OpLoad %f32 %{name}_pointer")
    for number, expression in enumerate(EXPRESSIONS.values()):
        code.append(expression.code.replace("%_", f"%e{number}_"))
        code.append(f"%o{number}_row = OpIMul %u32 %index %n{len(EXPRESSIONS)}\n%o{number}_index = OpIAdd %u32 %o{number}_row %n{number}")
        code.append(f"%o{number} = OpAccessChain %to_element %made %n0 %o{number}_index\nOpStore %o{number} %e{number}_r")
        decorations += [f"OpDecorate {each.replace('%_', f'%e{number}_')} NoContraction" for each in expression.no_contraction]
    numbers = [f"%n{number} = OpConstant %u32 {number}" for number in range(max(len(EXPRESSIONS), 4) + 1)]
    return SHADER.format(decorations="\n".join(decorations), numbers="\n".join(numbers), code="\n".join(code))


def expected_counts(modes: str) -> dict[str, int]:
    """What the layer has to count in the shader."""
    device, counts = Device(modes), dict.fromkeys(COUNTS, 0)
    held = {"fma": device.contracts, "assoc": device.associates, "div": "div" in device.modes, "inline+fma": device.inlines and device.contracts}
    for expression in EXPRESSIONS.values():
        for mode, changes in expression.counts.items():
            for what, times in changes.items():
                counts[what] += times if held[mode] else 0
        if device.flushes:
            counts["flushed"] += len(re.findall(ARITHMETIC, expression.code)) + ("%product" in expression.code)
    if device.flushes and not device.inlines:
        # The function is there once.
        counts["flushed"] += 1 - sum("%product" in each.code for each in EXPRESSIONS.values())
    return counts


def rewrite(library: ctypes.CDLL, modes: str, module: bytes) -> tuple[bytes, dict[str, int]]:
    """What the layer makes of a module, and what it counts."""
    function = library.gpufeed_hostile_rewrite
    function.restype = ctypes.POINTER(ctypes.c_uint32)
    count, counts = ctypes.c_size_t(len(module) // 4), (ctypes.c_uint32 * len(COUNTS))()
    words = function(modes.encode(), module, ctypes.byref(count), counts)
    if not words:
        raise ValueError(f"{modes}: the layer gives no module")
    made = ctypes.string_at(words, 4 * count.value)
    ctypes.CDLL(None).free(words)
    return made, dict(zip(COUNTS, counts))


def refusal(module: bytes, environment: str = "vulkan1.3") -> str:
    """spirv-val's message about a module; none if it takes it."""
    command = [*hostile_layer.spirv_tool("spirv-val"), "--target-env", environment, "-"]
    done = subprocess.run(command, input=module, capture_output=True)
    return (done.stdout + done.stderr).decode(errors="replace").strip() if done.returncode else ""


def samples() -> list[tuple[float, ...]]:
    """Inputs: three quarters of them numbers whose sums and products are rounded, the others denormals, zeros and such as give these."""
    dice = random.Random(7)
    ordinary = [tuple(f32(dice.uniform(-4, 4)) for _ in range(4)) for _ in range(SAMPLES * 3 // 4)]
    small = [0.0, -0.0, 2.0**-149, -(2.0**-130), f32(1.5 * 2.0**-127), LEAST_NORMAL, -f32(1.25 * LEAST_NORMAL), 2.0**-60, f32(1.1 * 2.0**-70), 1.0, -0.5]
    return ordinary + [tuple(dice.choice(small) for _ in range(4)) for _ in range(SAMPLES - len(ordinary))]


def wrong_quotient(device: Device, a: float, b: float, found: float) -> bool:
    """True unless the quotient is right, or within 2.5 ulp in the mode `div`."""
    if not (0.1 < abs(a) < 4 and 0.1 < abs(b) < 4):
        return False
    if "div" not in device.modes:
        return found != f32(a / b)
    true = Fraction(a) / Fraction(b)
    ulp = Fraction(2) ** (math.frexp(abs(float(true)))[1] - 24)
    return abs(Fraction(found) - true) > ulp * 5 / 2


def same(x: float, y: float) -> bool:
    return struct.pack("<f", x) == struct.pack("<f", y)


def check_values(modes: str, module: bytes, inputs: list[tuple[float, ...]]) -> list[str]:
    """What is wrong with the values of the shader on a device with these modes."""
    os.environ["GPUFEED_HOSTILE"] = modes
    device, plain, wrong = Device(modes), Device(""), []
    instance = compute.Instance()
    given = b"".join(struct.pack("<4f", *each) for each in inputs)
    made = compute.Device(instance.devices[0], (b"VK_EXT_pci_bus_info",)).run(module, given, 4 * len(inputs) * len(EXPRESSIONS), len(inputs) // 64)
    values = struct.unpack(f"<{len(inputs) * len(EXPRESSIONS)}f", made)
    for number, (name, expression) in enumerate(EXPRESSIONS.items()):
        column = list(zip(inputs, values[number :: len(EXPRESSIONS)]))
        if expression.value is None:
            bad = [(given, found) for given, found in column if wrong_quotient(device, *given[:2], found)]
            moved = sum(0.1 < abs(given[1]) and found != f32(given[0] / given[1]) for given, found in column)
        else:
            bad = [(given, found) for given, found in column if not same(expression.value(device, *given), found)]
            moved = sum(not same(expression.value(plain, *given), found) for given, found in column)
        if bad:
            wrong.append(f"{modes or 'no mode'}: {name} is wrong for {len(bad)} of {len(column)} inputs, such as {bad[0][0]}: {bad[0][1]}")
        # A mode that changes nothing would be checked by nothing.
        counts = {mode for mode in expression.counts if "left alone" not in expression.counts[mode]}
        acts = {"fma": device.contracts, "assoc": device.associates, "div": "div" in device.modes, "inline+fma": device.inlines and device.contracts}
        if any(acts[mode] for mode in counts) and moved < len(column) // 50:
            wrong.append(f"{modes}: {name} is another value for {moved} of {len(column)} inputs alone")
    return wrong


def check_devices() -> list[str]:
    """What is wrong with what several devices of one driver say of themselves."""
    os.environ["GPUFEED_HOSTILE"] = "discrete,nvidia"
    os.environ |= hostile_layer.adapters(hostile_layer.lavapipe_manifest(), 4)
    instance = compute.Instance()
    found = [instance.describe(device) for device in instance.devices]
    instance.close()
    print(*(f"  {each.uuid} {each.address} {each.name}" for each in found), sep="\n")
    wrong = []
    if len(found) != 4 or len({each.uuid for each in found}) != 4 or len({each.address for each in found}) != 4:
        wrong.append("four copies of a driver's manifest are not four devices with their own UUIDs and PCI addresses")
    if any(each.kind != 2 or each.vendor != 0x10DE for each in found):
        wrong.append("a device is no discrete one of NVIDIA")
    for modes in ("fmaa", "discrete,integrated", "fma,fma2"):
        os.environ["GPUFEED_HOSTILE"] = modes
        try:
            compute.Instance()
            wrong.append(f"the layer takes {modes}")
        except compute.VulkanError:
            pass
    return wrong


def check_folder(library: ctypes.CDLL, folder: Path) -> list[str]:
    """What is wrong with naga's modules after each mode."""
    files = sorted(folder.rglob("*.spv"))
    rewritten = [mode for mode in MODES if mode]
    totals = {modes: dict.fromkeys(COUNTS, 0) for modes in rewritten}

    def one(file: Path) -> list[str]:
        wrong, environment = [], "vulkan1.0" if "vulkan1.0" in file.name else "vulkan1.3"
        for modes in rewritten:
            made, counts = rewrite(library, modes, file.read_bytes())
            message = refusal(made, environment)
            if message:
                wrong.append(f"{file.name}: {modes}: {message}")
            for what, times in counts.items():
                totals[modes][what] += times
        return wrong

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [each for found in pool.map(one, files) for each in found]
    for modes, counts in totals.items():
        print(f"  {modes}: {', '.join(f'{times} {what}' for what, times in counts.items())}")
        if any(counts[what] == 0 for mode, what in {"fma": "contracted", "div": "divided", "assoc": "reassociated", "flush": "flushed"}.items() if mode in modes.split(",")):
            wrong.append(f"{modes}: nothing was changed in {len(files)} modules")
        if counts["of matrices"]:
            wrong.append(f"{modes}: there are instructions on matrices, into which the layer does not look")
    return wrong if files else [f"there is no .spv in {folder}"]


def main() -> int:
    wrong = []
    try:
        library = ctypes.CDLL(str(hostile_layer.build()))
        assembler = [*hostile_layer.spirv_tool("spirv-as"), "--target-env", "vulkan1.1", "-", "-o", "-"]
        module = subprocess.run(assembler, input=assembly().encode(), capture_output=True, check=True).stdout
        if not refusal(BROKEN_SPIRV, "vulkan1.0"):
            wrong.append("spirv-val takes a broken module: it checks nothing")
        os.environ |= {"NODEVICE_SELECT": "1", "MESA_SHADER_CACHE_DISABLE": "true"}
        with tempfile.TemporaryDirectory() as caches:
            os.environ |= hostile_layer.environment("inline", Path(caches)) | hostile_layer.adapters(hostile_layer.lavapipe_manifest(), 1)
            if len(sys.argv) > 1:
                wrong += check_folder(library, Path(sys.argv[1]))
            for modes in MODES:
                made, counts = rewrite(library, modes, module)
                print(f"{modes or 'no mode'}: {', '.join(f'{times} {what}' for what, times in counts.items())}", flush=True)
                if counts != expected_counts(modes):
                    wrong.append(f"{modes or 'no mode'}: expected {expected_counts(modes)}")
                if not modes and made != module:
                    wrong.append("without a mode the module is changed")
                message = refusal(made)
                if message:
                    wrong.append(f"{modes}: spirv-val: {message}")
                else:
                    wrong += check_values(modes, module, samples())
            wrong += check_devices()
    except (OSError, ValueError) as error:
        print(f"not to be had: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"{error}: {error.stderr}", file=sys.stderr)
        return 1
    for each in wrong:
        print(each, file=sys.stderr)
    print(f"the hostile layer: {len(EXPRESSIONS)} expressions in {len(MODES)} lists of modes, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
