// A libcuda.so.1 for machines without NVIDIA's driver: the entry points of a hand-over, over mmap. "Device memory" is the file that a
// software Vulkan driver exports. A stream is a thread, whose work ends late: each of its steps takes a random time.
//
//   gcc -shared -fPIC -pthread -o libcuda.so.1 fake_libcuda.c
//
//   FAKE_CUDA_UUID=hex,hex   the UUIDs of one or two devices
//   FAKE_CUDA_CARD=n         the number of the device that takes memory and semaphores (default 0)
//   FAKE_CUDA_FAIL=call      that call returns CUDA_ERROR_NOT_SUPPORTED
//   FAKE_CUDA_WRONG=index    each copy to the host has another word there
//   FAKE_CUDA_DELAY=us       the longest time of a step (default 300)
//
// A program may also call fake_cuda_fail(call, nth), by which the nth call from now on fails, and fake_cuda_count(what).
//
// Semaphores are SwiftShader's: a file with a mutex and a condition that processes share (its SharedSemaphore). Other software
// drivers export none.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_SUPPORTED = 801, OPAQUE_FD = 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// What exists: imported memory and semaphores, mapped buffers, events.
static struct {
    const char *name;
    long count;
} counts[] = {{"memory", 0}, {"mapped", 0}, {"semaphores", 0}, {"events", 0}, {"imports", 0}, {"contexts", 0}};

static void count(const char *name, long change) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!strcmp(counts[i].name, name)) counts[i].count += change;
    pthread_mutex_unlock(&lock);
}

long fake_cuda_count(const char *name) {
    long found = -1;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!strcmp(counts[i].name, name)) found = counts[i].count;
    pthread_mutex_unlock(&lock);
    return found;
}

static char failing[64];
static long failing_in;

void fake_cuda_fail(const char *call, long nth) {
    pthread_mutex_lock(&lock);
    snprintf(failing, sizeof failing, "%s", call);
    failing_in = nth;
    pthread_mutex_unlock(&lock);
}

static int fails(const char *call) {
    const char *asked = getenv("FAKE_CUDA_FAIL");
    pthread_mutex_lock(&lock);
    int now = !strcmp(failing, call) && failing_in > 0 && --failing_in == 0;
    pthread_mutex_unlock(&lock);
    return now || (asked && !strcmp(asked, call));
}

#define MAY_FAIL(call)                                                                                                                                                                                                                         \
    do {                                                                                                                                                                                                                                       \
        if (fails(call)) return NOT_SUPPORTED;                                                                                                                                                                                                 \
    } while (0)

static size_t number(const char *variable, size_t otherwise) {
    const char *value = getenv(variable);
    return value ? strtoull(value, NULL, 10) : otherwise;
}

// SwiftShader's semaphore.
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int references;
    char signaled;
} Semaphore;

typedef struct {
    int done;
    pthread_cond_t reached;
    int references;
} Event;

typedef enum { WAIT, SIGNAL, RECORD, WAIT_EVENT, COPY } Kind;

typedef struct Step {
    Kind kind;
    Semaphore *semaphore;
    Event *event;
    void *to;
    const void *from;
    size_t bytes;
    struct Step *next;
} Step;

typedef struct Stream {
    void *handle;
    Step *first, *last;
    long waiting;
    pthread_cond_t changed;
    unsigned seed;
    struct Stream *next;
} Stream;

static Stream *streams;

static void drop(Event *event) {
    if (--event->references == 0) {
        pthread_cond_destroy(&event->reached);
        free(event);
    }
}

static void *run(void *argument) {
    Stream *stream = argument;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!stream->first) pthread_cond_wait(&stream->changed, &lock);
        Step *step = stream->first;
        if (step->kind == WAIT_EVENT)
            while (!step->event->done) pthread_cond_wait(&step->event->reached, &lock);
        size_t longest = number("FAKE_CUDA_DELAY", 300);
        pthread_mutex_unlock(&lock);
        if (longest) usleep(rand_r(&stream->seed) % longest);
        if (step->kind == WAIT) {
            pthread_mutex_lock(&step->semaphore->mutex);
            while (!step->semaphore->signaled) pthread_cond_wait(&step->semaphore->changed, &step->semaphore->mutex);
            step->semaphore->signaled = 0;
            pthread_mutex_unlock(&step->semaphore->mutex);
        }
        if (step->kind == SIGNAL) {
            pthread_mutex_lock(&step->semaphore->mutex);
            step->semaphore->signaled = 1;
            pthread_cond_broadcast(&step->semaphore->changed);
            pthread_mutex_unlock(&step->semaphore->mutex);
        }
        if (step->kind == COPY) {
            memcpy(step->to, step->from, step->bytes);
            size_t wrong = number("FAKE_CUDA_WRONG", SIZE_MAX);
            if (wrong < step->bytes / 4) ((uint32_t *)step->to)[wrong] ^= 1;
        }
        pthread_mutex_lock(&lock);
        if (step->kind == RECORD) {
            step->event->done = 1;
            pthread_cond_broadcast(&step->event->reached);
        }
        if (step->event) drop(step->event);
        stream->first = step->next;
        if (!stream->first) stream->last = NULL;
        stream->waiting--;
        pthread_cond_broadcast(&stream->changed);
        free(step);
    }
    return NULL;
}

// The stream with this handle, with the lock held.
static Stream *stream_of(void *handle) {
    for (Stream *stream = streams; stream; stream = stream->next)
        if (stream->handle == handle) return stream;
    Stream *stream = calloc(1, sizeof *stream);
    *stream = (Stream){.handle = handle, .seed = (unsigned)(uintptr_t)handle + 7, .next = streams};
    pthread_cond_init(&stream->changed, NULL);
    streams = stream;
    pthread_t thread;
    pthread_create(&thread, NULL, run, stream);
    pthread_detach(thread);
    return stream;
}

static int push(void *handle, Step made) {
    Step *step = malloc(sizeof *step);
    *step = made;
    pthread_mutex_lock(&lock);
    Stream *stream = stream_of(handle);
    if (step->event) step->event->references++;
    if (step->kind == RECORD) step->event->done = 0;
    if (stream->last)
        stream->last->next = step;
    else
        stream->first = step;
    stream->last = step;
    stream->waiting++;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int cuInit(unsigned flags) {
    MAY_FAIL("cuInit");
    return flags ? INVALID_VALUE : SUCCESS;
}

int cuGetErrorName(int error, const char **name) {
    *name = error == INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : error == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : error == NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : "?";
    return SUCCESS;
}

// The digits of each device's UUID, and a comma.
enum { UUID = 33 };

static int devices(void) {
    const char *hex = getenv("FAKE_CUDA_UUID");
    return hex && strlen(hex) >= 2 * UUID - 1 ? 2 : 1;
}

int cuDeviceGetCount(int *found) {
    *found = devices();
    return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
    MAY_FAIL("cuDeviceGet");
    *device = ordinal;
    return ordinal < devices() ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    MAY_FAIL("cuDeviceGetUuid_v2");
    const char *hex = getenv("FAKE_CUDA_UUID");
    if (device >= devices()) return INVALID_VALUE;
    for (int i = 0; i < 16; i++) {
        unsigned byte = 0;
        if (hex && strlen(hex) >= UUID - 1) sscanf(hex + UUID * device + 2 * i, "%2x", &byte);
        uuid[i] = byte;
    }
    return SUCCESS;
}

// Addresses that stand for handles, so that a wrong one is seen: the context of each device.
static char contexts[2];
// The thread's contexts, the current one last.
static __thread char *pushed[8];
static __thread int depth;
// HIP has a current device in the place of contexts. A program sets it before its calls, and sets it back behind them.
static __thread int hip_device, hip_device_is_set;

static int is_context(const void *address) { return address == contexts || address == contexts + 1; }

// True if the thread's device is the one whose card exports: FAKE_CUDA_CARD.
static int on_card(void) {
    int device = depth ? (int)(pushed[depth - 1] - contexts) : hip_device_is_set ? hip_device : -1;
    return device == (int)number("FAKE_CUDA_CARD", 0);
}

int cuDevicePrimaryCtxRetain(void **retained, int device) {
    MAY_FAIL("cuDevicePrimaryCtxRetain");
    if (device >= devices()) return INVALID_VALUE;
    *retained = contexts + device;
    return SUCCESS;
}

int cuCtxSetCurrent(void *set) {
    if (!is_context(set)) return INVALID_VALUE;
    if (!depth) depth = 1;
    pushed[depth - 1] = set;
    return SUCCESS;
}

int cuCtxPushCurrent_v2(void *context) {
    MAY_FAIL("cuCtxPushCurrent_v2");
    if (!is_context(context) || depth == 8) return INVALID_VALUE;
    pushed[depth++] = context;
    count("contexts", 1);
    return SUCCESS;
}

int cuCtxPopCurrent_v2(void **popped) {
    if (!depth) return INVALID_VALUE;
    *popped = pushed[--depth];
    count("contexts", -1);
    return SUCCESS;
}

typedef struct {
    char *base, *begin;
    size_t mapped, size;
} Memory;

int cuImportExternalMemory(void **imported, const uint64_t *description) {
    MAY_FAIL("cuImportExternalMemory");
    if (!on_card() || (int)description[0] != OPAQUE_FD) return INVALID_VALUE;
    int fd = (int)description[1];
    size_t size = description[3];
    struct stat status;
    if (fstat(fd, &status)) return INVALID_VALUE;
    // lavapipe has a header of a page before the memory in its file. Other drivers round the size up to pages.
    size_t offset = (size_t)status.st_size >= size + 4096 ? 4096 : 0;
    char *base = mmap(NULL, size + offset, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return OUT_OF_MEMORY;
    close(fd); // the importer owns it
    Memory *memory = malloc(sizeof *memory);
    *memory = (Memory){base, base + offset, size + offset, size};
    *imported = memory;
    count("memory", 1);
    count("imports", 1);
    return SUCCESS;
}

int cuExternalMemoryGetMappedBuffer(uint64_t *pointer, void *imported, const uint64_t *range) {
    MAY_FAIL("cuExternalMemoryGetMappedBuffer");
    Memory *memory = imported;
    if (range[0] + range[1] > memory->size) return INVALID_VALUE;
    *pointer = (uint64_t)(memory->begin + range[0]);
    count("mapped", 1);
    return SUCCESS;
}

int cuMemFree_v2(uint64_t pointer) {
    count("mapped", -1);
    return pointer ? SUCCESS : INVALID_VALUE;
}

int cuDestroyExternalMemory(void *imported) {
    Memory *memory = imported;
    munmap(memory->base, memory->mapped);
    free(memory);
    count("memory", -1);
    return SUCCESS;
}

int cuImportExternalSemaphore(void **imported, const uint64_t *description) {
    MAY_FAIL("cuImportExternalSemaphore");
    if (!on_card() || (int)description[0] != OPAQUE_FD) return INVALID_VALUE;
    int fd = (int)description[1];
    Semaphore *semaphore = mmap(NULL, sizeof *semaphore, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (semaphore == MAP_FAILED) return INVALID_VALUE;
    close(fd);
    pthread_mutex_lock(&semaphore->mutex);
    semaphore->references++;
    pthread_mutex_unlock(&semaphore->mutex);
    *imported = semaphore;
    count("semaphores", 1);
    return SUCCESS;
}

int cuDestroyExternalSemaphore(void *imported) {
    Semaphore *semaphore = imported;
    pthread_mutex_lock(&semaphore->mutex);
    semaphore->references--;
    pthread_mutex_unlock(&semaphore->mutex);
    // A stream may still signal it: the few bytes stay mapped.
    count("semaphores", -1);
    return SUCCESS;
}

// The parameters of binary semaphores: no value, no flags.
static int all_zero(const uint64_t *parameters) {
    for (int i = 0; i < 18; i++)
        if (parameters[i]) return 0;
    return 1;
}

int cuWaitExternalSemaphoresAsync(void *const *semaphores, const uint64_t *parameters, unsigned number_of, void *on) {
    MAY_FAIL("cuWaitExternalSemaphoresAsync");
    return number_of == 1 && on_card() && all_zero(parameters) ? push(on, (Step){.kind = WAIT, .semaphore = semaphores[0]}) : INVALID_VALUE;
}

int cuSignalExternalSemaphoresAsync(void *const *semaphores, const uint64_t *parameters, unsigned number_of, void *on) {
    MAY_FAIL("cuSignalExternalSemaphoresAsync");
    return number_of == 1 && on_card() && all_zero(parameters) ? push(on, (Step){.kind = SIGNAL, .semaphore = semaphores[0]}) : INVALID_VALUE;
}

int cuEventCreate(void **made, unsigned flags) {
    MAY_FAIL("cuEventCreate");
    Event *event = calloc(1, sizeof *event);
    pthread_cond_init(&event->reached, NULL);
    event->done = event->references = 1;
    *made = event;
    count("events", 1);
    return flags == 2 ? SUCCESS : INVALID_VALUE;
}

int cuEventRecord(void *event, void *on) {
    MAY_FAIL("cuEventRecord");
    if (!on_card()) return INVALID_VALUE;
    return push(on, (Step){.kind = RECORD, .event = event});
}

int cuStreamWaitEvent(void *on, void *event, unsigned flags) {
    MAY_FAIL("cuStreamWaitEvent");
    return flags || !on_card() ? INVALID_VALUE : push(on, (Step){.kind = WAIT_EVENT, .event = event});
}

int cuEventSynchronize(void *waited) {
    MAY_FAIL("cuEventSynchronize");
    Event *event = waited;
    pthread_mutex_lock(&lock);
    while (!event->done) pthread_cond_wait(&event->reached, &lock);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

int cuEventDestroy_v2(void *event) {
    pthread_mutex_lock(&lock);
    drop(event);
    pthread_mutex_unlock(&lock);
    count("events", -1);
    return SUCCESS;
}

int cuStreamCreate(void **created, unsigned flags) {
    (void)flags;
    static uintptr_t next = 100;
    *created = (void *)next++;
    return SUCCESS;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *on) {
    MAY_FAIL("cuMemcpyDtoHAsync_v2");
    return push(on, (Step){.kind = COPY, .to = to, .from = (void *)from, .bytes = bytes});
}

int cuStreamSynchronize(void *on) {
    pthread_mutex_lock(&lock);
    Stream *stream = stream_of(on);
    while (stream->waiting) pthread_cond_wait(&stream->changed, &lock);
    pthread_mutex_unlock(&lock);
    return SUCCESS;
}

// HIP's names for the same: libamdhip64.so for the same tests.
#define HIP(name, call) extern __typeof(call) name __attribute__((alias(#call)))
HIP(hipImportExternalMemory, cuImportExternalMemory);
HIP(hipExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer);
HIP(hipFree, cuMemFree_v2);
HIP(hipDestroyExternalMemory, cuDestroyExternalMemory);
HIP(hipImportExternalSemaphore, cuImportExternalSemaphore);
HIP(hipDestroyExternalSemaphore, cuDestroyExternalSemaphore);
HIP(hipWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync);
HIP(hipSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync);
HIP(hipEventCreateWithFlags, cuEventCreate);
HIP(hipEventDestroy, cuEventDestroy_v2);
HIP(hipEventRecord, cuEventRecord);
HIP(hipStreamWaitEvent, cuStreamWaitEvent);
HIP(hipEventSynchronize, cuEventSynchronize);
HIP(hipDrvGetErrorName, cuGetErrorName);

int hipGetDevice(int *device) {
    *device = 0;
    return SUCCESS;
}

int hipSetDevice(int device) {
    hip_device = device;
    hip_device_is_set = !hip_device_is_set;
    return device < devices() ? SUCCESS : INVALID_VALUE;
}
