/* What a caller does wrong is an error, and never a permit. */
#include "check.h"

#define ASKED "{\"subject\":\"anna\",\"action\":\"read\",\"resource\":1}"
#define LEN (sizeof ASKED - 1)

static durward_pdp *pdp = NULL;

static void nulls_are_errors(void) {
    durward_outcome outcome = DURWARD_PERMIT;
    durward_answer *answer = NULL;
    durward_watch *watch = NULL;
    durward_error *error = NULL;
    durward_pdp *other = NULL;
    durward_policy policy = policy_of("p.sapl", "policy \"p\" permit");

    CHECK(fails(durward_decide(NULL, ASKED, LEN, &outcome, &answer, &error), DURWARD_MISUSE, &error, "`pdp` is a null"));
    CHECK(outcome == DURWARD_INDETERMINATE);
    CHECK(fails(durward_decide(pdp, NULL, 3, &outcome, &answer, &error), DURWARD_MISUSE, &error, "`subscription` is"));
    CHECK(fails(durward_decide(pdp, ASKED, LEN, NULL, &answer, &error), DURWARD_MISUSE, &error, "`outcome` is a null"));
    CHECK(durward_decide(NULL, NULL, 0, NULL, NULL, NULL) == DURWARD_MISUSE);
    CHECK(durward_decide_many(NULL, NULL, 0, NULL, NULL) == DURWARD_OK);
    CHECK(durward_decide_many(pdp, NULL, 1, NULL, NULL) == DURWARD_MISUSE);
    CHECK(durward_decide_request(NULL, "<a/>", 4, &answer, NULL) == DURWARD_MISUSE);
    CHECK(durward_decide_request(pdp, NULL, 0, &answer, NULL) == DURWARD_MISUSE);
    CHECK(durward_decide_request(pdp, "<a/>", 4, NULL, NULL) == DURWARD_MISUSE);
    CHECK(durward_explain(NULL, ASKED, LEN, &answer, NULL) == DURWARD_MISUSE);
    CHECK(durward_explain(pdp, ASKED, LEN, NULL, NULL) == DURWARD_MISUSE);
    CHECK(durward_explain_request(NULL, "<a/>", 4, &answer, NULL) == DURWARD_MISUSE);
    CHECK(durward_watch_open(NULL, ASKED, LEN, &watch, NULL) == DURWARD_MISUSE);
    CHECK(durward_watch_open(pdp, ASKED, LEN, NULL, NULL) == DURWARD_MISUSE);
    CHECK(durward_watch_next(NULL, 0, &outcome, &answer, NULL) == DURWARD_MISUSE);
    CHECK(durward_watch_close(NULL, NULL) == DURWARD_MISUSE);
    CHECK(durward_pdp_from_dir(NULL, 0, &other, NULL) == DURWARD_MISUSE);
    CHECK(durward_pdp_from_dir(".", 1, NULL, NULL) == DURWARD_MISUSE);
    CHECK(durward_pdp_from_texts(NULL, 1, &other, NULL) == DURWARD_MISUSE);
    CHECK(durward_pdp_from_texts(&policy, 1, NULL, NULL) == DURWARD_MISUSE);
    CHECK(durward_reload(NULL, NULL) == DURWARD_MISUSE);
    CHECK(durward_replace(NULL, &policy, 1, NULL) == DURWARD_MISUSE);
    CHECK(durward_replace(pdp, NULL, 1, NULL) == DURWARD_MISUSE);
    CHECK(durward_answer_text(NULL, NULL) == NULL);
    CHECK(durward_answer_json(NULL, NULL) == NULL);
    CHECK(durward_error_message(NULL, NULL) == NULL);
    CHECK(durward_error_code(NULL) == DURWARD_OK);
    durward_free_pdp(NULL);
    durward_free_answer(NULL);
    durward_free_watch(NULL);
    durward_free_error(NULL);
    durward_free_decisions(NULL, 3);
}

static void lengths_that_cannot_be_are_errors(void) {
    durward_outcome outcome = DURWARD_PERMIT;
    durward_policy policy = policy_of("p.sapl", "policy \"p\" permit");
    durward_text text = text_of(ASKED);
    durward_decision row;
    durward_pdp *other = NULL;
    durward_error *error = NULL;
    durward_code code = durward_decide(pdp, ASKED, (size_t)-1, &outcome, NULL, &error);
    CHECK(fails(code, DURWARD_MISUSE, &error, "is no length of `subscription`"));
    CHECK(outcome == DURWARD_INDETERMINATE);
    CHECK(durward_pdp_from_texts(&policy, (size_t)-1, &other, NULL) == DURWARD_MISUSE);
    CHECK(durward_decide_many(pdp, &text, (size_t)-1, &row, NULL) == DURWARD_MISUSE);
}

static void texts_end_where_their_length_says(void) {
    durward_outcome outcome = DURWARD_PERMIT;
    char *exact = malloc(LEN);
    CHECK(exact != NULL);
    /* Without a zero behind it: a byte more that is read shows under a sanitizer. */
    memcpy(exact, ASKED, LEN);
    CHECK(durward_decide(pdp, exact, LEN, &outcome, NULL, NULL) == DURWARD_OK);
    CHECK(outcome == DURWARD_PERMIT);
    CHECK(durward_decide(pdp, exact, LEN - 1, &outcome, NULL, NULL) == DURWARD_QUESTION);
    CHECK(outcome == DURWARD_INDETERMINATE);
    CHECK(durward_decide(pdp, exact, 0, &outcome, NULL, NULL) == DURWARD_QUESTION);
    free(exact);
}

static void texts_that_are_not_utf8_are_errors(void) {
    const char asked[] = "{\"subject\":\"\xff\",\"action\":1,\"resource\":1}";
    const char lone[] = "{\"subject\":\"\\ud800\",\"action\":1,\"resource\":1}";
    const char zero[] = "{\"subject\":\"a\0b\",\"action\":1,\"resource\":1}";
    durward_policy policy = policy_of("\xff.sapl", "policy \"p\" permit");
    durward_outcome outcome = DURWARD_PERMIT;
    durward_pdp *other = NULL;
    durward_error *error = NULL;
    CHECK(durward_decide(pdp, asked, sizeof asked - 1, &outcome, NULL, NULL) == DURWARD_QUESTION);
    CHECK(durward_decide(pdp, lone, sizeof lone - 1, &outcome, NULL, NULL) == DURWARD_QUESTION);
    CHECK(durward_decide(pdp, zero, sizeof zero - 1, &outcome, NULL, NULL) == DURWARD_QUESTION);
    CHECK(outcome == DURWARD_INDETERMINATE);
    CHECK(fails(durward_pdp_from_texts(&policy, 1, &other, &error), DURWARD_MISUSE, &error, "`policies[0].name` is not UTF-8"));
    CHECK(durward_pdp_from_dir("\xff", 1, &other, NULL) == DURWARD_MISUSE);
    CHECK(durward_pdp_from_dir("no such folder", 14, &other, &error) == DURWARD_POLICIES);
    CHECK(fails(DURWARD_POLICIES, DURWARD_POLICIES, &error, "no such folder"));
}

static void huge_texts_are_errors(void) {
    size_t len = (size_t)100 * 1024 * 1024;
    char *huge = malloc(len);
    durward_outcome outcome = DURWARD_PERMIT;
    durward_error *error = NULL;
    CHECK(huge != NULL);
    memset(huge, ' ', len);
    CHECK(fails(durward_decide(pdp, huge, len, &outcome, NULL, &error), DURWARD_QUESTION, &error, "longer than"));
    CHECK(outcome == DURWARD_INDETERMINATE);
    memset(huge, '[', len);
    CHECK(durward_decide(pdp, huge, 1024 * 1024, &outcome, NULL, NULL) == DURWARD_QUESTION);
    free(huge);
}

/* Whoever does not look at obligations must not get the permit that depends on them. */
static void unseen_obligations_are_no_permit(void) {
    durward_pdp *strict = pdp_of("policy \"p\" permit subject == \"anna\"; obligation \"log\"");
    durward_pdp *changed = pdp_of("policy \"p\" permit transform 7");
    durward_pdp *advised = pdp_of("policy \"p\" permit advice \"be brief\"");
    durward_outcome outcome = DURWARD_PERMIT;
    durward_answer *answer = NULL;
    durward_watch *watch = NULL;
    durward_error *error = NULL;
    CHECK(fails(durward_decide(strict, ASKED, LEN, &outcome, NULL, &error), DURWARD_UNSEEN, &error, "with obligations"));
    CHECK(outcome == DURWARD_INDETERMINATE);
    CHECK(durward_decide(changed, ASKED, LEN, &outcome, NULL, NULL) == DURWARD_UNSEEN);
    CHECK(outcome == DURWARD_INDETERMINATE);
    CHECK(durward_watch_open(strict, ASKED, LEN, &watch, NULL) == DURWARD_OK);
    CHECK(durward_watch_next(watch, -1, &outcome, NULL, NULL) == DURWARD_UNSEEN);
    CHECK(outcome == DURWARD_INDETERMINATE);
    durward_free_watch(watch);
    CHECK(durward_decide(strict, ASKED, LEN, &outcome, &answer, NULL) == DURWARD_OK);
    CHECK(outcome == DURWARD_PERMIT && answer != NULL);
    durward_free_answer(answer);
    CHECK(durward_decide(advised, ASKED, LEN, &outcome, NULL, NULL) == DURWARD_OK);
    CHECK(outcome == DURWARD_PERMIT);
    durward_free_pdp(strict);
    durward_free_pdp(changed);
    durward_free_pdp(advised);
}

static void each_of_many_fails_alone(void) {
    durward_text asked[4];
    durward_decision rows[4];
    asked[0] = text_of(ASKED);
    asked[1] = text_of("no JSON");
    asked[2].data = NULL;
    asked[2].len = 7;
    asked[3] = text_of("{\"subject\":\"bob\",\"action\":1,\"resource\":1}");
    memset(rows, 0xff, sizeof rows);
    CHECK(durward_decide_many(pdp, asked, 4, rows, NULL) == DURWARD_OK);
    CHECK(rows[0].code == DURWARD_OK && rows[0].outcome == DURWARD_PERMIT && rows[0].answer == NULL);
    CHECK(rows[1].code == DURWARD_QUESTION && rows[1].outcome == DURWARD_INDETERMINATE);
    CHECK(rows[2].code == DURWARD_MISUSE && rows[2].outcome == DURWARD_INDETERMINATE);
    CHECK(strstr(durward_error_message(rows[2].error, NULL), "`subscriptions[2]` is a null pointer") != NULL);
    CHECK(rows[3].code == DURWARD_OK && rows[3].outcome == DURWARD_DENY);
    durward_free_decisions(rows, 4);
    durward_free_decisions(rows, 4);
    memset(rows, 0xff, sizeof rows);
    CHECK(durward_decide_many(NULL, asked, 4, rows, NULL) == DURWARD_MISUSE);
    CHECK(rows[0].outcome == DURWARD_INDETERMINATE && rows[3].error == NULL);
    /* What was in the rows before must not be taken for decisions when nothing was asked. */
    rows[1].outcome = DURWARD_PERMIT;
    CHECK(durward_decide_many(pdp, NULL, 4, rows, NULL) == DURWARD_MISUSE);
    CHECK(rows[1].outcome == DURWARD_INDETERMINATE && rows[1].answer == NULL);
}

static void codes_are_no_permit(void) {
    durward_code code;
    CHECK(strcmp(durward_outcome_name(DURWARD_PERMIT), "PERMIT") == 0);
    CHECK(strcmp(durward_outcome_name(DURWARD_NOT_APPLICABLE), "NOT_APPLICABLE") == 0);
    CHECK(strcmp(durward_outcome_name(77), "INDETERMINATE") == 0);
    for (code = DURWARD_OK; code <= DURWARD_INTERNAL; code++) {
        CHECK(strcmp(durward_outcome_name(code), "PERMIT") != 0);
    }
}

static void broken_policies_change_nothing(void) {
    durward_policy broken = policy_of("q.sapl", "policy \"q\" permitt");
    durward_policy denies = policy_of("q.sapl", "policy \"q\" deny");
    durward_pdp *changed = pdp_of("policy \"p\" permit");
    durward_outcome outcome = DURWARD_DENY;
    durward_error *error = NULL;
    CHECK(fails(durward_replace(changed, &broken, 1, &error), DURWARD_POLICIES, &error, "q.sapl:1:"));
    CHECK(durward_decide(changed, ASKED, LEN, &outcome, NULL, NULL) == DURWARD_OK && outcome == DURWARD_PERMIT);
    CHECK(durward_replace(changed, &denies, 1, NULL) == DURWARD_OK);
    CHECK(durward_decide(changed, ASKED, LEN, &outcome, NULL, NULL) == DURWARD_OK && outcome == DURWARD_DENY);
    CHECK(fails(durward_reload(changed, &error), DURWARD_POLICIES, &error, "given as texts"));
    durward_free_pdp(changed);
}

int main(void) {
    pdp = pdp_of("policy \"p\" permit subject == \"anna\";");
    nulls_are_errors();
    lengths_that_cannot_be_are_errors();
    texts_end_where_their_length_says();
    texts_that_are_not_utf8_are_errors();
    huge_texts_are_errors();
    unseen_obligations_are_no_permit();
    each_of_many_fails_alone();
    codes_are_no_permit();
    broken_policies_change_nothing();
    durward_free_pdp(pdp);
    return DONE();
}
