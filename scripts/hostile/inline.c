#include "inline.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Passes that move code and values alone: none of them computes with f32.
static const char PASSES[] =
    "--eliminate-dead-branches --merge-return --inline-entry-points-exhaustive --eliminate-dead-functions "
    "--private-to-local --eliminate-local-single-block --ssa-rewrite --eliminate-dead-code-aggressive";

static bool write_file(const char *path, const uint32_t *words, size_t count) {
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    bool whole = fwrite(words, sizeof *words, count, file) == count;
    return !fclose(file) && whole;
}

static Words read_file(const char *path) {
    Words read = {0};
    FILE *file = fopen(path, "rb");
    if (!file) return read;
    if (!fseek(file, 0, SEEK_END) && ftell(file) > 0) {
        read.count = read.capacity = (size_t)ftell(file) / sizeof *read.words;
        read.words = malloc(read.count * sizeof *read.words);
        if (!read.words) abort();
        rewind(file);
        if (fread(read.words, sizeof *read.words, read.count, file) != read.count) read.count = 0;
    }
    fclose(file);
    return read;
}

static bool run(const char *before, const char *after) {
    char command[8192];
    const char *optimizer = getenv("GPUFEED_HOSTILE_OPTIMIZER");
    int length = snprintf(command, sizeof command, "exec %s %s '%s' -o '%s'", optimizer, PASSES, before, after);
    if (length < 0 || (size_t)length >= sizeof command) return false;
    char *arguments[] = {"sh", "-c", command, NULL};
    pid_t child;
    int status;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ)) return false;
    return waitpid(child, &status, 0) == child && status == 0;
}

Words inlined(const uint32_t *words, size_t count) {
    char folder[] = "/tmp/gpufeed-hostile-XXXXXX", before[64], after[64];
    Words result = {0};
    if (!mkdtemp(folder)) {
        perror("gpufeed_hostile: a folder in /tmp");
        return result;
    }
    snprintf(before, sizeof before, "%s/before.spv", folder);
    snprintf(after, sizeof after, "%s/after.spv", folder);
    if (write_file(before, words, count) && run(before, after)) result = read_file(after);
    if (!result.count) fprintf(stderr, "gpufeed_hostile: inline: spirv-opt gives no module\n");
    unlink(before);
    unlink(after);
    rmdir(folder);
    return result;
}
