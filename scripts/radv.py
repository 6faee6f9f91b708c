"""Compiles compute shaders by RADV, Mesa's Vulkan driver for AMD's GPUs, for a card that this machine does not have.

With RADV_FORCE_FAMILY the driver compiles for the named chip and executes nothing. It is called without Vulkan's loader: the few calls
below by ctypes, on the driver's own library. `shader_stats.py` uses this.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from ctypes import Structure, byref, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import unpack
from vulkan import ApplicationInfo, DeviceInfo, InstanceInfo, QueueInfo, structure

# Numbers of VkStructureType.
INSTANCE, QUEUE, DEVICE, LAYOUT, PIPELINE_LAYOUT, MODULE, STAGE, COMPUTE = 1, 2, 3, 32, 30, 16, 18, 29
FEATURES_2, SUBGROUP_SIZE, PIPELINE_INFO, EXECUTABLE, EXECUTABLE_INFO = 1000059000, 1000225001, 1000269001, 1000269002, 1000269003
STATISTIC, REPRESENTATION, FEATURES_1_3, EXECUTABLE_FEATURES, ROBUSTNESS_2 = 1000269004, 1000269005, 53, 1000269000, 1000286000
CAPTURE_STATISTICS, CAPTURE_REPRESENTATIONS = 0x40, 0x80
STORAGE_BUFFER, COMPUTE_STAGE = 7, 0x20
BINDINGS = 4


def plain(name: str, *fields: tuple[str, type]) -> type[Structure]:
    return type(name, (Structure,), {"_fields_": list(fields)})


# VkPhysicalDeviceFeatures has 55 booleans, robustBufferAccess first; VkPhysicalDeviceVulkan13Features has 15.
Features2 = structure("Features2", ("robust_buffer_access", c_uint32), ("others", c_uint32 * 54))
Features13 = structure("Features13", ("features", c_uint32 * 15))
SUBGROUP_SIZE_CONTROL, ZERO_INITIALIZE = 7, 11
Robustness2 = structure("Robustness2", ("buffer", c_uint32), ("image", c_uint32), ("null_descriptor", c_uint32))
ExecutableFeatures = structure("ExecutableFeatures", ("info", c_uint32))
Binding = plain("Binding", ("binding", c_uint32), ("type", c_uint32), ("count", c_uint32), ("stages", c_uint32), ("samplers", c_void_p))
LayoutInfo = structure("LayoutInfo", ("flags", c_uint32), ("count", c_uint32), ("bindings", c_void_p))
PipelineLayoutInfo = structure(
    "PipelineLayoutInfo", ("flags", c_uint32), ("sets", c_uint32), ("layouts", c_void_p), ("ranges", c_uint32), ("range_list", c_void_p)
)
ModuleInfo = structure("ModuleInfo", ("flags", c_uint32), ("size", c_size_t), ("code", c_char_p))
SubgroupSize = structure("SubgroupSize", ("size", c_uint32))
StageInfo = structure(
    "StageInfo", ("flags", c_uint32), ("stage", c_uint32), ("module", c_uint64), ("entry", c_char_p), ("specialization", c_void_p)
)
ComputeInfo = structure("ComputeInfo", ("flags", c_uint32), ("stage", StageInfo), ("layout", c_uint64), ("base", c_uint64), ("base_index", c_int32))
PipelineInfo = structure("PipelineInfo", ("pipeline", c_uint64))
Executable = structure(
    "Executable", ("stages", c_uint32), ("name", c_char * 256), ("description", c_char * 256), ("subgroup_size", c_uint32)
)
ExecutableInfo = structure("ExecutableInfo", ("pipeline", c_uint64), ("index", c_uint32))


class Value(ctypes.Union):
    _fields_ = [("boolean", c_uint32), ("signed", c_int64), ("unsigned", c_uint64), ("float", c_double)]


Statistic = structure("Statistic", ("name", c_char * 256), ("description", c_char * 256), ("format", c_uint32), ("value", Value))
Representation = structure(
    "Representation", ("name", c_char * 256), ("description", c_char * 256), ("is_text", c_uint32), ("size", c_size_t), ("data", c_void_p)
)


class DriverError(Exception):
    """RADV is not to be had, or refuses something."""


def library() -> Path:
    """RADV of Debian's backports if this is Debian and they have one, else the system's."""
    system = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    suite = re.search(r"^VERSION_CODENAME=(\w+)$", system, re.MULTILINE)
    if suite is not None and "ID=debian" in system:
        folder = unpack.UNPACKED / f"{suite[1]}-backports"
        try:
            if not any(folder.glob("usr/lib/*/libvulkan_radeon.so")):
                unpack.unpack(f"{suite[1]}-backports", ["mesa-vulkan-drivers"])
        except (OSError, ValueError):
            pass
        found = next(folder.glob("usr/lib/*/libvulkan_radeon.so"), None)
        # It may need libraries that the system lacks.
        if found is not None and "not found" not in subprocess.run(["ldd", found], capture_output=True, text=True).stdout:
            return found
    for place in ("/usr/lib/*/libvulkan_radeon.so", "/usr/lib*/libvulkan_radeon.so"):
        found = next(Path("/").glob(place[1:]), None)
        if found is not None:
            return found
    raise DriverError("there is no libvulkan_radeon.so: install Mesa's Vulkan drivers (Debian: mesa-vulkan-drivers)")


class Card:
    """A device of RADV that compiles for a chip. One process opens one chip: the driver reads the environment once."""

    def __init__(self, driver: Path, family: str, subgroup: int) -> None:
        os.environ["RADV_FORCE_FAMILY"] = family
        # A stored result would hide what the compiler does today.
        os.environ["RADV_DEBUG"] = "nocache"
        os.environ["MESA_SHADER_CACHE_DISABLE"] = "true"
        self.subgroup = subgroup
        self.driver = ctypes.CDLL(str(driver))
        self.driver.vk_icdGetInstanceProcAddr.restype = c_void_p
        self.driver.vk_icdGetInstanceProcAddr.argtypes = [c_void_p, c_char_p]
        version = c_uint32(5)
        self.driver.vk_icdNegotiateLoaderICDInterfaceVersion(byref(version))
        self.instance = c_void_p(None)
        application = ApplicationInfo(0, None, b"gpufeed", 0, b"gpufeed", 0, 1 << 22 | 3 << 12)
        info = InstanceInfo(INSTANCE, None, 0, ctypes.addressof(application), 0, None, 0, None)
        instance = c_void_p()
        self.call("vkCreateInstance", byref(info), None, byref(instance))
        self.instance = instance
        count, physical = c_uint32(1), c_void_p()
        self.call("vkEnumeratePhysicalDevices", instance, byref(count), byref(physical), fine=(0, 5))
        if count.value == 0:
            raise DriverError(f"RADV knows no family {family!r}")
        properties = ctypes.create_string_buffer(2048)
        self.call("vkGetPhysicalDeviceProperties", physical, properties)
        self.version, self.name = self.driver_version(properties.raw), properties.raw[20:276].split(b"\0")[0].decode()
        self.device = self.open(physical)
        self.layout = self.pipeline_layout()

    @staticmethod
    def driver_version(properties: bytes) -> str:
        """Mesa's version, as VK_MAKE_VERSION packs it in `driverVersion`."""
        number = int.from_bytes(properties[4:8], "little")
        return f"{number >> 22}.{number >> 12 & 0x3FF}.{number & 0xFFF}"

    def call(self, name: str, *arguments: object, fine: tuple[int, ...] = (0,)) -> None:
        address = self.driver.vk_icdGetInstanceProcAddr(self.instance, name.encode())
        if not address:
            raise DriverError(f"RADV has no {name}")
        returns = None if name in ("vkGetPhysicalDeviceProperties", "vkDestroyPipeline", "vkDestroyShaderModule") else c_int
        code = ctypes.CFUNCTYPE(returns)(address)(*arguments)
        if returns is not None and code not in fine:
            raise DriverError(f"{name} ended with {code}")

    def open(self, physical: c_void_p) -> c_void_p:
        """A device with the features by which wgpu opens one; `tests/shaders/translate.rs` leaves bounds checks to them."""
        executable = ExecutableFeatures(EXECUTABLE_FEATURES, None, 1)
        robustness = Robustness2(ROBUSTNESS_2, ctypes.addressof(executable), 1, 1, 0)
        vulkan_1_3 = Features13(FEATURES_1_3, ctypes.addressof(robustness))
        vulkan_1_3.features[SUBGROUP_SIZE_CONTROL] = 1
        vulkan_1_3.features[ZERO_INITIALIZE] = 1
        features = Features2(FEATURES_2, ctypes.addressof(vulkan_1_3), 1)
        priority = (ctypes.c_float * 1)(1.0)
        queue = QueueInfo(QUEUE, None, 0, 0, 1, ctypes.addressof(priority))
        names = (c_char_p * 2)(b"VK_KHR_pipeline_executable_properties", b"VK_EXT_robustness2")
        info = DeviceInfo(DEVICE, ctypes.addressof(features), 0, 1, ctypes.addressof(queue), 0, None, 2, ctypes.addressof(names), None)
        device = c_void_p()
        self.call("vkCreateDevice", physical, byref(info), None, byref(device))
        return device

    def pipeline_layout(self) -> c_uint64:
        """The four storage buffers of `src/gpu/pipelines.rs`."""
        bindings = (Binding * BINDINGS)(*(Binding(i, STORAGE_BUFFER, 1, COMPUTE_STAGE, None) for i in range(BINDINGS)))
        info = LayoutInfo(LAYOUT, None, 0, BINDINGS, ctypes.addressof(bindings))
        of_set, layout = c_uint64(), c_uint64()
        self.call("vkCreateDescriptorSetLayout", self.device, byref(info), None, byref(of_set))
        info = PipelineLayoutInfo(PIPELINE_LAYOUT, None, 0, 1, ctypes.addressof(of_set), 0, None)
        self.call("vkCreatePipelineLayout", self.device, byref(info), None, byref(layout))
        return layout

    def compile(self, code: bytes) -> tuple[dict[str, int | float], str]:
        """The compiler's statistics of a shader with the entry point `main`, and its assembly."""
        module, pipeline = c_uint64(), c_uint64()
        self.call("vkCreateShaderModule", self.device, byref(ModuleInfo(MODULE, None, 0, len(code), code)), None, byref(module))
        size = SubgroupSize(SUBGROUP_SIZE, None, self.subgroup)
        stage = StageInfo(STAGE, ctypes.addressof(size), 0, COMPUTE_STAGE, module, b"main", None)
        info = ComputeInfo(COMPUTE, None, CAPTURE_STATISTICS | CAPTURE_REPRESENTATIONS, stage, self.layout, 0, -1)
        self.call("vkCreateComputePipelines", self.device, c_uint64(0), c_uint32(1), byref(info), None, byref(pipeline))
        executables = self.listed("vkGetPipelineExecutablePropertiesKHR", PipelineInfo(PIPELINE_INFO, None, pipeline), Executable, EXECUTABLE)
        if len(executables) != 1 or executables[0].subgroup_size != self.subgroup:
            found = [each.subgroup_size for each in executables]
            raise DriverError(f"one program with waves of {self.subgroup} was expected, not {found}")
        info = ExecutableInfo(EXECUTABLE_INFO, None, pipeline, 0)
        statistics = self.listed("vkGetPipelineExecutableStatisticsKHR", info, Statistic, STATISTIC)
        values = {each.name.decode(): getattr(each.value, Value._fields_[each.format][0]) for each in statistics}
        assembly = self.assembly(info)
        self.call("vkDestroyPipeline", self.device, pipeline, None)
        self.call("vkDestroyShaderModule", self.device, module, None)
        return values, assembly

    def listed(self, name: str, info: Structure, kind: type, number: int) -> Any:
        """A list of Vulkan, as an array; it is asked for twice, first for its length."""
        count = c_uint32(0)
        self.call(name, self.device, byref(info), byref(count), None)
        found = (kind * count.value)()
        for each in found:
            each.type = number
        self.call(name, self.device, byref(info), byref(count), byref(found))
        return found

    def assembly(self, info: Structure) -> str:
        """The text of the machine code. Vulkan gives the sizes of texts first, then the texts."""
        name = "vkGetPipelineExecutableInternalRepresentationsKHR"
        found = self.listed(name, info, Representation, REPRESENTATION)
        texts = [ctypes.create_string_buffer(each.size) for each in found]
        for each, text in zip(found, texts):
            each.data = ctypes.addressof(text)
        self.call(name, self.device, byref(info), byref(c_uint32(len(found))), byref(found))
        for each, text in zip(found, texts):
            if each.name == b"Assembly":
                return text.value.decode(errors="replace")
        raise DriverError("RADV gives no assembly: it was built without LLVM")
