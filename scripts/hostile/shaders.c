#include "shaders.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inline.h"

static atomic_uint modules;

static void report(unsigned number, const Counts *counts) {
    const char *where = getenv("GPUFEED_HOSTILE_COUNT");
    if (!where || !*where) return;
    FILE *file = strcmp(where, "1") ? fopen(where, "a") : stderr;
    if (!file) {
        perror(where);
        return;
    }
    // One write, so that lines of other threads and processes are not mixed with it.
    char line[256];
    int length = snprintf(line, sizeof line,
                          "gpufeed_hostile: module %u: %u contracted, %u reassociated, %u divided, %u flushed, "
                          "%u left alone, %u of matrices not looked into\n",
                          number, counts->contracted, counts->reassociated, counts->divided, counts->flushed,
                          counts->left_alone, counts->matrix);
    fwrite(line, 1, (size_t)length, file);
    if (file != stderr) fclose(file);
}

static void dump(unsigned number, const char *when, const uint32_t *words, size_t count) {
    const char *folder = getenv("GPUFEED_HOSTILE_DUMP");
    if (!folder || !*folder) return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld-%u.%s.spv", folder, (long)getpid(), number, when);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(words, sizeof *words, count, file) != count) perror(path);
    if (file) fclose(file);
}

static Words make(const uint32_t *words, size_t count, const Modes *modes, Counts *counts) {
    Words whole = {0};
    if (modes->inlined) {
        whole = inlined(words, count);
        if (!whole.count) return whole;
        words = whole.words;
        count = whole.count;
    }
    Words out = rewrite(words, count, modes, counts);
    free(whole.words);
    return out;
}

Words rewrite_shader(const uint32_t *words, size_t count, const Modes *modes) {
    unsigned number = atomic_fetch_add(&modules, 1);
    dump(number, "before", words, count);
    Counts counts;
    Words out = make(words, count, modes, &counts);
    if (!out.count) return out;
    dump(number, "after", out.words, out.count);
    report(number, &counts);
    return out;
}

uint32_t *gpufeed_hostile_rewrite(const char *list, const uint32_t *words, size_t *count, Counts *counts) {
    Modes modes;
    if (!modes_read(list, &modes)) return NULL;
    Words out = make(words, *count, &modes, counts);
    *count = out.count;
    return out.words;
}
