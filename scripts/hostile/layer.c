// VK_LAYER_gpufeed_hostile: makes a driver behave as another one may, for any program: VK_INSTANCE_LAYERS names the
// layer, GPUFEED_HOSTILE its modes (modes.h). It changes shaders (shaders.h), and what devices say of themselves
// (identity.h).
//
// An instance has the modes of GPUFEED_HOSTILE at the time when it is made. Shaders are seen in vkCreateShaderModule
// alone: wgpu gives them to the driver in no other way.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "identity.h"
#include "modes.h"
#include "shaders.h"

enum { MOST_DEVICES = 64 };

typedef struct Instance {
    struct Instance *others;
    void *key;
    Modes modes;
    VkPhysicalDevice places[MOST_DEVICES];
    unsigned known;
    VkInstance handle;
    PFN_vkGetInstanceProcAddr next;
    PFN_vkDestroyInstance destroy;
    PFN_vkEnumeratePhysicalDevices enumerate;
    PFN_vkGetPhysicalDeviceProperties properties;
    PFN_vkGetPhysicalDeviceProperties2 properties2;
    PFN_vkGetPhysicalDeviceFeatures features;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
} Instance;

typedef struct Device {
    struct Device *others;
    void *key;
    Modes modes;
    PFN_vkGetDeviceProcAddr next;
    PFN_vkDestroyDevice destroy;
    PFN_vkCreateShaderModule create_module;
} Device;

// The lists of instances and devices, and the places of physical devices.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Instance *instances;
static Device *devices;

// The first word of a handle is the loader's table of functions: one for an instance and its physical devices, one for
// a device.
static void *key_of(const void *handle) { return *(void *const *)handle; }

// A record is there until its handle is destroyed, which Vulkan forbids while another thread uses the handle.
static Instance *instance_of(const void *handle) {
    pthread_mutex_lock(&lock);
    Instance *found = instances;
    while (found && found->key != key_of(handle)) found = found->others;
    pthread_mutex_unlock(&lock);
    return found;
}

static Device *device_of(const void *handle) {
    pthread_mutex_lock(&lock);
    Device *found = devices;
    while (found && found->key != key_of(handle)) found = found->others;
    pthread_mutex_unlock(&lock);
    return found;
}

// The loader's entry for the next layer in a chain; both of its types begin alike.
static void *link_of(const void *chain, VkStructureType type) {
    VkLayerInstanceCreateInfo *at = (void *)chain;
    while (at && !(at->sType == type && at->function == VK_LAYER_LINK_INFO)) at = (void *)at->pNext;
    return at;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator, VkInstance *instance) {
    Modes modes;
    if (!modes_read(getenv("GPUFEED_HOSTILE"), &modes)) return VK_ERROR_INITIALIZATION_FAILED;
    VkLayerInstanceCreateInfo *link = link_of(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    VkResult result = ((PFN_vkCreateInstance)next(NULL, "vkCreateInstance"))(info, allocator, instance);
    if (result != VK_SUCCESS) return result;

    Instance *made = calloc(1, sizeof *made);
    if (!made) abort();
    *made = (Instance){.key = key_of(*instance), .modes = modes, .handle = *instance, .next = next};
    made->destroy = (PFN_vkDestroyInstance)next(*instance, "vkDestroyInstance");
    made->enumerate = (PFN_vkEnumeratePhysicalDevices)next(*instance, "vkEnumeratePhysicalDevices");
    made->features = (PFN_vkGetPhysicalDeviceFeatures)next(*instance, "vkGetPhysicalDeviceFeatures");
    made->properties = (PFN_vkGetPhysicalDeviceProperties)next(*instance, "vkGetPhysicalDeviceProperties");
    made->properties2 = (PFN_vkGetPhysicalDeviceProperties2)next(*instance, "vkGetPhysicalDeviceProperties2");
    if (!made->properties2)
        made->properties2 = (PFN_vkGetPhysicalDeviceProperties2)next(*instance, "vkGetPhysicalDeviceProperties2KHR");
    made->extensions =
        (PFN_vkEnumerateDeviceExtensionProperties)next(*instance, "vkEnumerateDeviceExtensionProperties");
    pthread_mutex_lock(&lock);
    made->others = instances;
    instances = made;
    pthread_mutex_unlock(&lock);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks *allocator) {
    if (!instance) return;
    Instance *gone = instance_of(instance);
    pthread_mutex_lock(&lock);
    Instance **at = &instances;
    while (*at != gone) at = &(*at)->others;
    *at = gone->others;
    pthread_mutex_unlock(&lock);
    gone->destroy(instance, allocator);
    free(gone);
}

// The place of a physical device is that in the first list in which it was seen.
static unsigned place_of(Instance *instance, VkPhysicalDevice device) {
    pthread_mutex_lock(&lock);
    unsigned place = 0;
    while (place < instance->known && instance->places[place] != device) place++;
    if (place == instance->known && place < MOST_DEVICES) instance->places[instance->known++] = device;
    pthread_mutex_unlock(&lock);
    return place;
}

static VKAPI_ATTR VkResult VKAPI_CALL enumerate(VkInstance instance, uint32_t *count, VkPhysicalDevice *list) {
    Instance *of = instance_of(instance);
    VkResult result = of->enumerate(instance, count, list);
    if (list && (result == VK_SUCCESS || result == VK_INCOMPLETE)) {
        for (uint32_t i = 0; i < *count; i++) place_of(of, list[i]);
    }
    return result;
}

static VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice device, VkPhysicalDeviceProperties *out) {
    Instance *of = instance_of(device);
    of->properties(device, out);
    disguise(&of->modes, out);
}

static VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2 *out) {
    Instance *of = instance_of(device);
    of->properties2(device, out);
    disguise(&of->modes, &out->properties);
    identify(place_of(of, device), out->pNext);
}

// The extensions of the device, and VK_EXT_pci_bus_info where it has not got that one. The layer's manifest lists it,
// too: by that the loader lets a program ask for it, and keeps it from the driver.
static VKAPI_ATTR VkResult VKAPI_CALL extensions(VkPhysicalDevice device, const char *layer, uint32_t *count,
                                                 VkExtensionProperties *list) {
    static const VkExtensionProperties ADDRESS = {VK_EXT_PCI_BUS_INFO_EXTENSION_NAME, VK_EXT_PCI_BUS_INFO_SPEC_VERSION};
    Instance *of = instance_of(device);
    if (layer) return of->extensions(device, layer, count, list);
    uint32_t known = 0;
    VkResult result = of->extensions(device, NULL, &known, NULL);
    if (result != VK_SUCCESS) return result;
    VkExtensionProperties *all = calloc(known + 1, sizeof *all);
    if (!all) abort();
    result = of->extensions(device, NULL, &known, all);
    uint32_t i = 0;
    while (i < known && strcmp(all[i].extensionName, ADDRESS.extensionName)) i++;
    if (i == known) all[known++] = ADDRESS;
    if (list && result == VK_SUCCESS) {
        if (*count < known) result = VK_INCOMPLETE;
        if (*count > known) *count = known;
        memcpy(list, all, *count * sizeof *list);
    } else {
        *count = known;
    }
    free(all);
    return result;
}

// Rewritten shaders may compute in f64, for which the device needs a feature. The features are where the program has
// them: in the chain, else beside it. The program's own are as they were when vkCreateDevice returns.
static VkResult create_with_float64(PFN_vkCreateDevice create, VkPhysicalDevice physical,
                                    const VkDeviceCreateInfo *info, const VkAllocationCallbacks *allocator,
                                    VkDevice *device) {
    VkBaseOutStructure *at = (void *)info->pNext;
    while (at && at->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) at = at->pNext;
    if (at) {
        VkBool32 *float64 = &((VkPhysicalDeviceFeatures2 *)at)->features.shaderFloat64, before = *float64;
        *float64 = VK_TRUE;
        VkResult result = create(physical, info, allocator, device);
        *float64 = before;
        return result;
    }
    VkDeviceCreateInfo changed = *info;
    VkPhysicalDeviceFeatures features = {0};
    if (info->pEnabledFeatures) features = *info->pEnabledFeatures;
    features.shaderFloat64 = VK_TRUE;
    changed.pEnabledFeatures = &features;
    return create(physical, &changed, allocator, device);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkDevice *device) {
    Instance *of = instance_of(physical);
    VkLayerDeviceCreateInfo *link = link_of(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
    if (!link) return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr next_of_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)next_of_instance(of->handle, "vkCreateDevice");
    VkResult result;
    if (modes_need_float64(&of->modes)) {
        VkPhysicalDeviceFeatures features;
        of->features(physical, &features);
        if (!features.shaderFloat64) {
            fprintf(stderr, "gpufeed_hostile: fma, fma2 and div need a device with f64, which this one has not\n");
            return VK_ERROR_FEATURE_NOT_PRESENT;
        }
        result = create_with_float64(create, physical, info, allocator, device);
    } else {
        result = create(physical, info, allocator, device);
    }
    if (result != VK_SUCCESS) return result;

    Device *made = calloc(1, sizeof *made);
    if (!made) abort();
    *made = (Device){.key = key_of(*device), .modes = of->modes, .next = next};
    made->destroy = (PFN_vkDestroyDevice)next(*device, "vkDestroyDevice");
    made->create_module = (PFN_vkCreateShaderModule)next(*device, "vkCreateShaderModule");
    pthread_mutex_lock(&lock);
    made->others = devices;
    devices = made;
    pthread_mutex_unlock(&lock);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device, const VkAllocationCallbacks *allocator) {
    if (!device) return;
    Device *gone = device_of(device);
    pthread_mutex_lock(&lock);
    Device **at = &devices;
    while (*at != gone) at = &(*at)->others;
    *at = gone->others;
    pthread_mutex_unlock(&lock);
    gone->destroy(device, allocator);
    free(gone);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkShaderModule *module) {
    Device *of = device_of(device);
    Words words = rewrite_shader(info->pCode, info->codeSize / sizeof *info->pCode, &of->modes);
    if (!words.count) return VK_ERROR_INITIALIZATION_FAILED;
    VkShaderModuleCreateInfo changed = *info;
    changed.pCode = words.words;
    changed.codeSize = words.count * sizeof *words.words;
    VkResult result = of->create_module(device, &changed, allocator, module);
    free(words.words);
    return result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char *name);
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char *name);

// The layer's own function of that name, or NULL.
static PFN_vkVoidFunction own(const char *name, bool of_device) {
    const struct {
        const char *name;
        PFN_vkVoidFunction function;
        bool of_device;
    } all[] = {
        {"vkGetInstanceProcAddr", (PFN_vkVoidFunction)instance_function, false},
        {"vkCreateInstance", (PFN_vkVoidFunction)create_instance, false},
        {"vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance, false},
        {"vkEnumeratePhysicalDevices", (PFN_vkVoidFunction)enumerate, false},
        {"vkGetPhysicalDeviceProperties", (PFN_vkVoidFunction)properties, false},
        {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)properties2, false},
        {"vkGetPhysicalDeviceProperties2KHR", (PFN_vkVoidFunction)properties2, false},
        {"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)extensions, false},
        {"vkCreateDevice", (PFN_vkVoidFunction)create_device, false},
        {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)device_function, true},
        {"vkDestroyDevice", (PFN_vkVoidFunction)destroy_device, true},
        {"vkCreateShaderModule", (PFN_vkVoidFunction)create_module, true},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if ((all[i].of_device || !of_device) && !strcmp(all[i].name, name)) return all[i].function;
    }
    return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char *name) {
    PFN_vkVoidFunction function = own(name, true);
    return function ? function : device_of(device)->next(device, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char *name) {
    PFN_vkVoidFunction function = own(name, false);
    // The driver may lack what has two names.
    bool optional = !strncmp(name, "vkGetPhysicalDeviceProperties2", strlen("vkGetPhysicalDeviceProperties2"));
    if (function && (!optional || !instance)) return function;
    Instance *of = instance ? instance_of(instance) : NULL;
    PFN_vkVoidFunction next = of ? of->next(instance, name) : NULL;
    return next && function ? function : next;
}

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface) {
    if (interface->loaderLayerInterfaceVersion > 2) interface->loaderLayerInterfaceVersion = 2;
    interface->pfnGetInstanceProcAddr = instance_function;
    interface->pfnGetDeviceProcAddr = device_function;
    interface->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
