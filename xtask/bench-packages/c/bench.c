/* The library for C: `bench QUESTIONS POLICIES`. See ../README.md. */
#define _POSIX_C_SOURCE 200809L

#include <durward.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUESTIONS_MAX = 256 };

static char *questions[QUESTIONS_MAX];
static size_t lengths[QUESTIONS_MAX];
static int permitted[QUESTIONS_MAX];
static int count = 0;
static durward_pdp *pdp = NULL;

static void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The text of a file, with a zero behind it. */
static char *read_all(const char *folder, const char *name, size_t *len) {
    char path[4096];
    FILE *file;
    char *text = malloc(1 << 20);
    snprintf(path, sizeof path, "%s%s%s", folder, *folder == 0 ? "" : "/", name);
    file = fopen(path, "rb");
    if (file == NULL || text == NULL) {
        fail(path);
    }
    *len = fread(text, 1, (1 << 20) - 1, file);
    text[*len] = 0;
    fclose(file);
    return text;
}

static int decide(int number) {
    durward_outcome outcome;
    durward_answer *answer = NULL;
    durward_code code = durward_decide(pdp, questions[number], lengths[number], &outcome, &answer, NULL);
    durward_free_answer(answer);
    return code == DURWARD_OK && outcome == DURWARD_PERMIT;
}

static double measure(double ms) {
    double start = now_ns(), now = start;
    double calls = 0;
    long permits = 0;
    while (now < start + ms * 1e6) {
        int number;
        for (number = 0; number < count; number++) {
            permits += decide(number);
        }
        calls += count;
        now = now_ns();
    }
    if (permits == 0) {
        fail("nothing was permitted");
    }
    return (now - start) / calls;
}

int main(int argc, char **argv) {
    durward_policy policy;
    size_t len;
    char *line, *rest = NULL;
    char command[256];
    if (argc != 3) {
        fail("bench QUESTIONS POLICIES");
    }
    policy.name.data = "doctors.sapl";
    policy.name.len = strlen(policy.name.data);
    policy.text.data = read_all(argv[2], "doctors.sapl", &policy.text.len);
    if (durward_pdp_from_texts(&policy, 1, &pdp, NULL) != DURWARD_OK) {
        fail("no decision point");
    }
    for (line = strtok_r(read_all("", argv[1], &len), "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        if (count == QUESTIONS_MAX) {
            fail("too many questions");
        }
        permitted[count] = strncmp(line, "true", 4) == 0;
        questions[count] = strrchr(line, '\t') + 1;
        lengths[count] = strlen(questions[count]);
        if (decide(count) != permitted[count]) {
            fail(questions[count]);
        }
        count++;
    }
    printf("ok\tdurward, text\n");
    fflush(stdout);
    while (fgets(command, sizeof command, stdin) != NULL) {
        int number;
        double ms;
        if (sscanf(command, "measure %d %lf", &number, &ms) != 2) {
            fail(command);
        }
        printf("ok %f\n", measure(ms));
        fflush(stdout);
    }
    return 0;
}
