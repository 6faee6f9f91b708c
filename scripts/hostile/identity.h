// What a device says of itself: its type, its UUID, its PCI address.
#pragma once

#include <vulkan/vulkan.h>

#include "modes.h"

// Changes the type and the vendor of the device, in the modes that ask for it.
void disguise(const Modes *modes, VkPhysicalDeviceProperties *properties);

// Gives the device the UUID and the PCI address that belong to its place in the list of devices, where the chain asks
// for them.
void identify(unsigned place, void *chain);
