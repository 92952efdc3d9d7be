/*
 * The table of cases. Each row on standard input is `VERB LENGTH LENGTH`, a line feed, two texts of these lengths, and a line feed:
 *
 *   policy NAME TEXT           one policy more
 *   open                       puts them in force
 *   decide QUESTION JSON       this decision, and its outcome is the one of an explanation
 *   request QUESTION PART      a response with this in it
 *   refuse QUESTION WHY        no subscription, and why
 *   refuse_request QUESTION WHY
 *   broken WHY                 the policies cannot be put in force, and how the message begins
 */
#include "check.h"

enum { POLICIES_MAX = 16 };

static durward_policy policies[POLICIES_MAX];
static size_t policy_count = 0;
static durward_pdp *pdp = NULL;

static durward_text read_text(size_t len) {
    char *data = malloc(len + 1);
    durward_text text;
    CHECK(data != NULL && fread(data, 1, len, stdin) == len);
    data[len] = 0;
    text.data = data;
    text.len = len;
    return text;
}

static void free_text(durward_text text) {
    free((void *)(size_t)text.data);
}

static void forget_policies(void) {
    size_t at;
    for (at = 0; at < policy_count; at++) {
        free_text(policies[at].name);
        free_text(policies[at].text);
    }
    policy_count = 0;
}

/* What a caller has of a decision in JSON: that of the answer, or the outcome alone. */
static int is_decision(durward_outcome outcome, const durward_answer *answer, const char *json) {
    char plain[64];
    const char *got = durward_answer_text(answer, NULL);
    if (got == NULL) {
        snprintf(plain, sizeof plain, "{\"decision\":\"%s\"}", durward_outcome_name(outcome));
        got = plain;
    }
    if (strcmp(got, json) != 0) {
        fprintf(stderr, "%s, not %s\n", got, json);
    }
    return strcmp(got, json) == 0;
}

/* The same question by every way there is to ask it. */
static void decide(durward_text question, durward_text json) {
    durward_outcome outcome = DURWARD_PERMIT;
    durward_answer *answer = NULL;
    durward_decision rows[2];
    durward_text twice[2];
    durward_watch *watch = NULL;
    char named[64];

    CHECK(durward_decide(pdp, question.data, question.len, &outcome, &answer, NULL) == DURWARD_OK);
    CHECK(is_decision(outcome, answer, json.data));
    durward_free_answer(answer);

    twice[0] = question;
    twice[1] = question;
    CHECK(durward_decide_many(pdp, twice, 2, rows, NULL) == DURWARD_OK);
    CHECK(rows[1].code == DURWARD_OK && rows[1].error == NULL && rows[1].outcome == outcome);
    CHECK(is_decision(rows[1].outcome, rows[1].answer, json.data));
    durward_free_decisions(rows, 2);
    CHECK(rows[1].outcome == DURWARD_INDETERMINATE && rows[1].answer == NULL);

    CHECK(durward_watch_open(pdp, question.data, question.len, &watch, NULL) == DURWARD_OK);
    outcome = DURWARD_PERMIT;
    CHECK(durward_watch_next(watch, -1, &outcome, &answer, NULL) == DURWARD_OK);
    CHECK(is_decision(outcome, answer, json.data));
    durward_free_answer(answer);
    durward_free_watch(watch);

    CHECK(durward_explain(pdp, question.data, question.len, &answer, NULL) == DURWARD_OK);
    snprintf(named, sizeof named, "\"outcome\":\"%s\"", durward_outcome_name(outcome));
    CHECK(strstr(durward_answer_json(answer, NULL), named) != NULL);
    CHECK(strlen(durward_answer_text(answer, NULL)) > 0);
    durward_free_answer(answer);
}

static void request(durward_text question, durward_text part) {
    durward_answer *answer = NULL;
    size_t len = 0;
    CHECK(durward_decide_request(pdp, question.data, question.len, &answer, NULL) == DURWARD_OK);
    if (strstr(durward_answer_text(answer, &len), part.data) == NULL) {
        fprintf(stderr, "%s, without %s\n", durward_answer_text(answer, NULL), part.data);
        exit(1);
    }
    CHECK(strlen(durward_answer_text(answer, NULL)) == len);
    durward_free_answer(answer);
    CHECK(durward_explain_request(pdp, question.data, question.len, &answer, NULL) == DURWARD_OK);
    CHECK(strstr(durward_answer_json(answer, NULL), "\"outcome\":") != NULL);
    durward_free_answer(answer);
}

static void refuse(durward_text question, durward_text why) {
    durward_outcome outcome = DURWARD_PERMIT;
    durward_answer *answer = (durward_answer *)&outcome;
    durward_watch *watch = (durward_watch *)&outcome;
    durward_error *error = NULL;
    durward_code code = durward_decide(pdp, question.data, question.len, &outcome, &answer, &error);
    CHECK(fails(code, DURWARD_QUESTION, &error, why.data));
    CHECK(outcome == DURWARD_INDETERMINATE && answer == NULL);
    code = durward_watch_open(pdp, question.data, question.len, &watch, &error);
    CHECK(fails(code, DURWARD_QUESTION, &error, why.data) && watch == NULL);
    CHECK(durward_explain(pdp, question.data, question.len, &answer, NULL) == DURWARD_QUESTION);
}

static void refuse_request(durward_text question, durward_text why) {
    durward_answer *answer = NULL;
    durward_error *error = NULL;
    durward_code code = durward_decide_request(pdp, question.data, question.len, &answer, &error);
    CHECK(fails(code, DURWARD_QUESTION, &error, why.data) && answer == NULL);
    CHECK(durward_explain_request(pdp, question.data, question.len, &answer, NULL) == DURWARD_QUESTION);
}

static void broken(durward_text why) {
    durward_pdp *none = (durward_pdp *)&why;
    durward_error *error = NULL;
    durward_code code = durward_pdp_from_texts(policies, policy_count, &none, &error);
    CHECK(none == NULL && strncmp(durward_error_message(error, NULL), why.data, why.len) == 0);
    CHECK(fails(code, DURWARD_POLICIES, &error, why.data));
}

int main(void) {
    char verb[16];
    size_t first_len = 0;
    size_t second_len = 0;
    while (scanf("%15s %zu %zu", verb, &first_len, &second_len) == 3) {
        durward_text first;
        durward_text second;
        CHECK(getchar() == '\n');
        first = read_text(first_len);
        second = read_text(second_len);
        if (strcmp(verb, "policy") == 0) {
            CHECK(policy_count < POLICIES_MAX);
            policies[policy_count].name = first;
            policies[policy_count].text = second;
            policy_count++;
            continue;
        }
        if (strcmp(verb, "open") == 0) {
            durward_free_pdp(pdp);
            CHECK(durward_pdp_from_texts(policies, policy_count, &pdp, NULL) == DURWARD_OK);
            forget_policies();
        } else if (strcmp(verb, "decide") == 0) {
            decide(first, second);
        } else if (strcmp(verb, "request") == 0) {
            request(first, second);
        } else if (strcmp(verb, "refuse") == 0) {
            refuse(first, second);
        } else if (strcmp(verb, "refuse_request") == 0) {
            refuse_request(first, second);
        } else {
            CHECK(strcmp(verb, "broken") == 0);
            broken(first);
            forget_policies();
        }
        free_text(first);
        free_text(second);
    }
    durward_free_pdp(pdp);
    return DONE();
}
