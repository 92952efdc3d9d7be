/*
 * What a decision costs a program in C: nanoseconds per call, the best of five rounds.
 *
 *   cargo xtask package c
 *   cc -O2 bindings/c/bench/decide.c -I PREFIX/include -L PREFIX/lib -ldurward -Wl,-rpath,PREFIX/lib -o decide && ./decide
 *
 * What the border adds is the difference to the same policy and question in Rust: `durward bench embedded --mode text --policies DIR --requests FILE`.
 */
#define _POSIX_C_SOURCE 200809L

#include <durward.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, CALLS = 1000000 };

static const char *const PLAIN = "policy \"doctors\" permit subject.role == \"doctor\";";
static const char *const MORE = "policy \"doctors\" permit subject.role == \"doctor\"; obligation { \"log\": resource }";
static const char *const ASKED = "{\"subject\":{\"role\":\"doctor\"},\"action\":\"read\",\"resource\":\"record\"}";

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int measure(const char *name, const char *text) {
    durward_policy policy;
    durward_pdp *pdp = NULL;
    double best = 1e9;
    int round;
    policy.name.data = "doctors.sapl";
    policy.name.len = 12;
    policy.text.data = text;
    policy.text.len = strlen(text);
    if (durward_pdp_from_texts(&policy, 1, &pdp, NULL) != DURWARD_OK) {
        return 1;
    }
    for (round = 0; round < ROUNDS; round++) {
        double start = seconds();
        double took;
        int call;
        for (call = 0; call < CALLS; call++) {
            durward_outcome outcome;
            durward_answer *answer = NULL;
            if (durward_decide(pdp, ASKED, strlen(ASKED), &outcome, &answer, NULL) != DURWARD_OK || outcome != DURWARD_PERMIT) {
                return 1;
            }
            durward_free_answer(answer);
        }
        took = seconds() - start;
        best = took < best ? took : best;
    }
    printf("%-20s %6.0f ns\n", name, best / CALLS * 1e9);
    durward_free_pdp(pdp);
    return 0;
}

int main(void) {
    return measure("outcome alone", PLAIN) | measure("with an obligation", MORE);
}
