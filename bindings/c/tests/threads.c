/* Many threads on one decision point, watches that are closed while somebody waits, and a process that splits. */
#define _POSIX_C_SOURCE 200809L

#include "check.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANNA "{\"subject\":\"anna\",\"action\":\"read\",\"resource\":1}"
#define BOB "{\"subject\":\"bob\",\"action\":\"read\",\"resource\":1}"

enum { THREADS = 8, ROUNDS = 2000 };

static durward_pdp *pdp = NULL;

static durward_outcome decided(const char *asked) {
    durward_outcome outcome = DURWARD_PERMIT;
    if (durward_decide(pdp, asked, strlen(asked), &outcome, NULL, NULL) != DURWARD_OK) {
        return DURWARD_INDETERMINATE;
    }
    return outcome;
}

/* The policies change meanwhile: anna is always let in, bob never. */
static void *ask(void *wrong) {
    int round;
    for (round = 0; round < ROUNDS; round++) {
        if (decided(ANNA) != DURWARD_PERMIT || decided(BOB) != DURWARD_DENY) {
            ++*(int *)wrong;
        }
    }
    return NULL;
}

static void *change(void *wrong) {
    durward_policy policies[2];
    int round;
    policies[0] = policy_of("p.sapl", "policy \"p\" permit subject == \"anna\";");
    policies[1] = policy_of("p.sapl", "policy \"q\" permit subject == \"anna\" & action == \"read\";");
    for (round = 0; round < 50; round++) {
        if (durward_replace(pdp, &policies[round % 2], 1, NULL) != DURWARD_OK) {
            ++*(int *)wrong;
        }
    }
    return NULL;
}

static void threads_decide_while_policies_change(void) {
    pthread_t threads[THREADS];
    int wrong[THREADS] = {0};
    int at;
    for (at = 0; at < THREADS; at++) {
        CHECK(pthread_create(&threads[at], NULL, at == 0 ? change : ask, &wrong[at]) == 0);
    }
    for (at = 0; at < THREADS; at++) {
        CHECK(pthread_join(threads[at], NULL) == 0);
        CHECK(wrong[at] == 0);
    }
}

static void *wait_for_it(void *watch) {
    durward_outcome outcome = DURWARD_PERMIT;
    durward_code code = durward_watch_next(watch, -1, &outcome, NULL, NULL);
    return code == DURWARD_CLOSED && outcome == DURWARD_INDETERMINATE ? watch : NULL;
}

static void whoever_waits_is_told_that_a_watch_is_closed(void) {
    durward_watch *watch = NULL;
    durward_outcome outcome = DURWARD_INDETERMINATE;
    pthread_t threads[2];
    void *told = NULL;
    int at;
    CHECK(durward_watch_open(pdp, ANNA, strlen(ANNA), &watch, NULL) == DURWARD_OK);
    CHECK(durward_watch_next(watch, -1, &outcome, NULL, NULL) == DURWARD_OK && outcome == DURWARD_PERMIT);
    CHECK(durward_watch_next(watch, 0, &outcome, NULL, NULL) == DURWARD_NOTHING);
    CHECK(outcome == DURWARD_INDETERMINATE);
    for (at = 0; at < 2; at++) {
        CHECK(pthread_create(&threads[at], NULL, wait_for_it, watch) == 0);
    }
    CHECK(durward_watch_close(watch, NULL) == DURWARD_OK);
    for (at = 0; at < 2; at++) {
        CHECK(pthread_join(threads[at], &told) == 0);
        CHECK(told == watch);
    }
    CHECK(durward_watch_close(watch, NULL) == DURWARD_OK);
    durward_free_watch(watch);
}

static void other_policies_give_another_decision(void) {
    durward_policy policy = policy_of("p.sapl", "policy \"p\" deny");
    durward_watch *watch = NULL;
    durward_outcome outcome = DURWARD_INDETERMINATE;
    CHECK(durward_watch_open(pdp, ANNA, strlen(ANNA), &watch, NULL) == DURWARD_OK);
    CHECK(durward_watch_next(watch, -1, &outcome, NULL, NULL) == DURWARD_OK && outcome == DURWARD_PERMIT);
    CHECK(durward_replace(pdp, &policy, 1, NULL) == DURWARD_OK);
    CHECK(durward_watch_next(watch, -1, &outcome, NULL, NULL) == DURWARD_OK && outcome == DURWARD_DENY);
    /* It outlives the decision point. */
    durward_free_pdp(pdp);
    pdp = NULL;
    CHECK(durward_watch_next(watch, 10, &outcome, NULL, NULL) == DURWARD_NOTHING);
    durward_free_watch(watch);
}

static void a_child_process_decides(void) {
    int status = 1;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (decided(ANNA) == DURWARD_PERMIT && decided(BOB) == DURWARD_DENY) {
            /* Another program ends in its place: what the threads that it has not hold is no leak, though valgrind would say so at an exit. */
            execlp("true", "true", (char *)NULL);
        }
        _exit(1);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
    pdp = pdp_of("policy \"p\" permit subject == \"anna\";");
    a_child_process_decides();
    threads_decide_while_policies_change();
    whoever_waits_is_told_that_a_watch_is_closed();
    a_child_process_decides();
    other_policies_give_another_decision();
    return DONE();
}
