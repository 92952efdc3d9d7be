/* What the test programs share: checks that count, and questions that are short to ask. */
#ifndef CHECK_H
#define CHECK_H

#include "durward.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each program is one file, and none uses all of this. */
#if defined(__GNUC__)
#define UNUSED __attribute__((unused))
#else
#define UNUSED
#endif

static int checks = 0;

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
            exit(1);                                                                  \
        }                                                                             \
        checks++;                                                                     \
    } while (0)

/* The last line of each program: whoever runs it looks for the number. */
#define DONE() (printf("%d checks\n", checks), 0)

static UNUSED durward_text text_of(const char *text) {
    durward_text made;
    made.data = text;
    made.len = strlen(text);
    return made;
}

static UNUSED durward_policy policy_of(const char *name, const char *text) {
    durward_policy made;
    made.name = text_of(name);
    made.text = text_of(text);
    return made;
}

/* A decision point of one policy in SAPL. */
static UNUSED durward_pdp *pdp_of(const char *text) {
    durward_policy policy = policy_of("p.sapl", text);
    durward_pdp *pdp = NULL;
    CHECK(durward_pdp_from_texts(&policy, 1, &pdp, NULL) == DURWARD_OK);
    CHECK(pdp != NULL);
    return pdp;
}

/* Whether the call failed with the code, and the words are in the message; frees the error. By address, because C may read arguments in any
 * order: the error is there only after the call. */
static UNUSED int fails(durward_code got, durward_code code, durward_error **error, const char *words) {
    size_t len = 0;
    const char *message = durward_error_message(*error, &len);
    int well = got == code && durward_error_code(*error) == code && message != NULL && strlen(message) == len &&
               strstr(message, words) != NULL;
    if (!well) {
        fprintf(stderr, "code %d, `%s`, not %d, `%s`\n", got, message == NULL ? "" : message, code, words);
    }
    durward_free_error(*error);
    *error = NULL;
    return well;
}

#endif
