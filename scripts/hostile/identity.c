#include "identity.h"

#include <string.h>

enum { NVIDIA = 0x10de, AMD = 0x1002 };

void disguise(const Modes *modes, VkPhysicalDeviceProperties *properties) {
    if (modes->discrete) properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    if (modes->integrated) properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
    if (modes->nvidia) properties->vendorID = NVIDIA;
    if (modes->amd) properties->vendorID = AMD;
}

// "gpufeed" and the place: 67707566-6565-6400-0000-000000000003.
static void uuid(unsigned place, uint8_t out[VK_UUID_SIZE]) {
    memset(out, 0, VK_UUID_SIZE);
    memcpy(out, "gpufeed", strlen("gpufeed"));
    out[VK_UUID_SIZE - 1] = (uint8_t)place;
}

void identify(unsigned place, void *chain) {
    for (VkBaseOutStructure *at = chain; at; at = at->pNext) {
        if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES) {
            uuid(place, ((VkPhysicalDeviceIDProperties *)at)->deviceUUID);
        } else if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES) {
            uuid(place, ((VkPhysicalDeviceVulkan11Properties *)at)->deviceUUID);
        } else if (at->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT) {
            // The list of devices need not be in the order of their addresses: neighbours are exchanged.
            VkPhysicalDevicePCIBusInfoPropertiesEXT *address = (void *)at;
            address->pciDomain = 0;
            address->pciBus = (place ^ 1) + 1;
            address->pciDevice = address->pciFunction = 0;
        }
    }
}
