// A libcuda.so.1 for machines without NVIDIA's driver: the entry points of a hand-over, over mmap. "Device memory" is
// the file that a software Vulkan driver exports. Semaphores are not waited for: with this library the host has to wait.
//
//   gcc -shared -fPIC -o libcuda.so.1 fake_libcuda.c
//
//   FAKE_CUDA_UUID=hex       the UUID of its one device: the adapter's
//   FAKE_CUDA_OFFSET=bytes   where the memory begins in its file (lavapipe has a header there)
//   FAKE_CUDA_FAIL=call      that call returns CUDA_ERROR_NOT_SUPPORTED
//   FAKE_CUDA_WRONG=index    each copy to the host has another word there
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_SUPPORTED = 801, OPAQUE_FD = 1 };

typedef struct {
    char *base;
    size_t size;
} Memory;

// Addresses that stand for handles, so that a wrong one is seen.
static char context, semaphore, stream;

static int fails(const char *call) {
    const char *asked = getenv("FAKE_CUDA_FAIL");
    return asked && strcmp(asked, call) == 0;
}

static size_t number(const char *variable, size_t otherwise) {
    const char *value = getenv(variable);
    return value ? strtoull(value, NULL, 10) : otherwise;
}

int cuInit(unsigned flags) { return fails("cuInit") ? NOT_SUPPORTED : flags ? INVALID_VALUE : SUCCESS; }

int cuDeviceGetCount(int *count) {
    *count = 1;
    return SUCCESS;
}

int cuDeviceGet(int *device, int number) {
    *device = number;
    return SUCCESS;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    const char *hex = getenv("FAKE_CUDA_UUID");
    for (int i = 0; i < 16; i++) {
        unsigned byte = 0;
        if (hex && strlen(hex) >= 32) sscanf(hex + 2 * i, "%2x", &byte);
        uuid[i] = byte;
    }
    return device ? INVALID_VALUE : SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **retained, int device) {
    *retained = &context;
    return device ? INVALID_VALUE : SUCCESS;
}

int cuCtxSetCurrent(void *current) { return current == &context ? SUCCESS : INVALID_VALUE; }

int cuImportExternalMemory(void **imported, const uint64_t *description) {
    if (fails("cuImportExternalMemory")) return NOT_SUPPORTED;
    if ((int)description[0] != OPAQUE_FD) return INVALID_VALUE;
    int fd = (int)description[1];
    size_t size = description[3], offset = number("FAKE_CUDA_OFFSET", 0);
    char *base = mmap(NULL, size + offset, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return OUT_OF_MEMORY;
    close(fd); // the importer owns it
    Memory *memory = malloc(sizeof *memory);
    *memory = (Memory){base + offset, size};
    *imported = memory;
    return SUCCESS;
}

int cuExternalMemoryGetMappedBuffer(uint64_t *pointer, void *imported, const uint64_t *range) {
    if (fails("cuExternalMemoryGetMappedBuffer")) return NOT_SUPPORTED;
    Memory *memory = imported;
    if (range[0] + range[1] > memory->size) return INVALID_VALUE;
    *pointer = (uint64_t)(memory->base + range[0]);
    return SUCCESS;
}

int cuMemFree_v2(uint64_t pointer) { return pointer ? SUCCESS : INVALID_VALUE; }

int cuDestroyExternalMemory(void *imported) {
    free(imported);
    return SUCCESS;
}

int cuImportExternalSemaphore(void **imported, const uint64_t *description) {
    if (fails("cuImportExternalSemaphore")) return NOT_SUPPORTED;
    close((int)description[1]);
    *imported = &semaphore;
    return SUCCESS;
}

int cuDestroyExternalSemaphore(void *imported) { return imported == &semaphore ? SUCCESS : INVALID_VALUE; }

int cuWaitExternalSemaphoresAsync(void *const *semaphores, const uint64_t *parameters, unsigned count, void *on) {
    (void)parameters;
    return count == 1 && semaphores[0] == &semaphore && on == &stream ? SUCCESS : INVALID_VALUE;
}

int cuSignalExternalSemaphoresAsync(void *const *semaphores, const uint64_t *parameters, unsigned count, void *on) {
    return cuWaitExternalSemaphoresAsync(semaphores, parameters, count, on);
}

int cuStreamCreate(void **created, unsigned flags) {
    (void)flags;
    *created = &stream;
    return SUCCESS;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *on) {
    if (fails("cuMemcpyDtoHAsync_v2")) return NOT_SUPPORTED;
    memcpy(to, (void *)from, bytes);
    size_t wrong = number("FAKE_CUDA_WRONG", SIZE_MAX);
    if (wrong < bytes / 4) ((uint32_t *)to)[wrong] ^= 1;
    return on == &stream ? SUCCESS : INVALID_VALUE;
}

int cuStreamSynchronize(void *on) { return on == &stream ? SUCCESS : INVALID_VALUE; }
