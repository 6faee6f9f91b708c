#include "modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool set(Modes *modes, const char *name, size_t length) {
    const struct {
        const char *name;
        bool *mode;
    } known[] = {
        {"discrete", &modes->discrete}, {"integrated", &modes->integrated}, {"nvidia", &modes->nvidia},
        {"amd", &modes->amd},           {"inline", &modes->inlined},        {"fma", &modes->fma},
        {"fma2", &modes->fma_right},    {"div", &modes->divide},            {"assoc", &modes->associate},
        {"flush", &modes->flush},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) == length && !memcmp(known[i].name, name, length)) {
            *known[i].mode = true;
            return true;
        }
    }
    fprintf(stderr, "gpufeed_hostile: GPUFEED_HOSTILE has a mode \"%.*s\"; the modes are", (int)length, name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) fprintf(stderr, "%s %s", i ? "," : "", known[i].name);
    fputc('\n', stderr);
    return false;
}

bool modes_read(const char *list, Modes *modes) {
    *modes = (Modes){0};
    for (const char *at = list; at && *list;) {
        size_t length = strcspn(at, ",");
        if (!set(modes, at, length)) return false;
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    const char *wrong = NULL;
    if (modes->discrete && modes->integrated) wrong = "discrete and integrated exclude each other";
    if (modes->nvidia && modes->amd) wrong = "nvidia and amd exclude each other";
    if (modes->fma && modes->fma_right) wrong = "fma and fma2 exclude each other";
    if (modes->inlined && !getenv("GPUFEED_HOSTILE_OPTIMIZER"))
        wrong = "inline needs the command of spirv-opt in GPUFEED_HOSTILE_OPTIMIZER";
    if (wrong) fprintf(stderr, "gpufeed_hostile: GPUFEED_HOSTILE=%s: %s\n", list, wrong);
    return !wrong;
}

bool modes_need_float64(const Modes *modes) { return modes->fma || modes->fma_right || modes->divide; }
