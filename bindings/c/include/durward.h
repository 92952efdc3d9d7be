/*
 * durward: decisions of policies in SAPL and XACML, within a program in C.
 *
 * What holds for all functions:
 *
 * - A text is a pointer and its length in bytes; it needs no zero at its end. A text that comes from here has one, which its length does not
 *   count. Texts are UTF-8. A text that is given is read during the call and not kept.
 * - A handle is made here and freed by its function, once, when no thread uses it any more. Freeing a null pointer does nothing.
 * - Whatever is null and must not be is DURWARD_MISUSE. A pointer that leads nowhere cannot be told from one that does: what comes of it is
 *   not defined, as in any library of C.
 * - Where a function gives a code, DURWARD_OK means that it has done what it is called for. Else `error`, unless it is a null pointer, gets a handle
 *   with the code and a message; the other results are null. DURWARD_NOTHING and DURWARD_CLOSED have no message.
 * - An outcome is written as DURWARD_INDETERMINATE when a call begins, and as DURWARD_PERMIT as the last of it. So it is a permit only if it was
 *   decided. Grant access if the code is DURWARD_OK, the outcome is DURWARD_PERMIT, and you meet what the answer asks; in no other case.
 * - A handle may be used by many threads at once. No exception and no panic leaves a function.
 */
#ifndef DURWARD_H
#define DURWARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What comes of a call. No code is the number of a permit. */
typedef int32_t durward_code;
enum {
    DURWARD_OK = 0,       /* done */
    DURWARD_POLICIES = 1, /* policies are broken or cannot be read; those in force still are */
    DURWARD_QUESTION = 2, /* the text is no subscription, or no request */
    DURWARD_SYSTEM = 3,   /* no thread to watch with, or too many watched subscriptions */
    DURWARD_MISUSE = 4,   /* a null pointer, a length that cannot be, a name that is not UTF-8 */
    DURWARD_UNSEEN = 5,   /* a permit with obligations or another resource, and nobody to see them: `answer` is null */
    DURWARD_NOTHING = 6,  /* no other decision within the time */
    DURWARD_CLOSED = 7,   /* the watch is closed: there are no more decisions */
    DURWARD_INTERNAL = 8  /* a mistake within the library; nothing was decided or changed */
};

/* What was decided. Memory that was set to zero says INDETERMINATE. */
typedef int32_t durward_outcome;
enum {
    DURWARD_INDETERMINATE = 0,
    DURWARD_DENY = 1,
    DURWARD_NOT_APPLICABLE = 2,
    DURWARD_SUSPEND = 3,
    DURWARD_PERMIT = 200
};

typedef struct durward_pdp durward_pdp;       /* a decision point with its policies */
typedef struct durward_answer durward_answer; /* what an answer says beyond its outcome */
typedef struct durward_watch durward_watch;   /* a subscription that is decided again and again */
typedef struct durward_error durward_error;   /* why a call failed */

typedef struct durward_text {
    const char *data;
    size_t len;
} durward_text;

/* A policy, and the name by which messages call it. The name says the language, as that of a file: .sapl, .xml, pdp.json and so on. */
typedef struct durward_policy {
    durward_text name;
    durward_text text;
} durward_policy;

/* One of many decisions, with its own code and error. */
typedef struct durward_decision {
    durward_outcome outcome;
    durward_code code;
    durward_answer *answer;
    durward_error *error;
} durward_decision;

/* The version of the library: "0.1.0". Not to be freed. */
const char *durward_version(void);

/* The name of an outcome in JSON: "PERMIT". What is no outcome is called "INDETERMINATE". Not to be freed. */
const char *durward_outcome_name(durward_outcome outcome);

/* Policies. ------------------------------------------------------------------------------------------------------------------ */

/* Reads the policies of a folder, or of one file. */
durward_code durward_pdp_from_dir(const char *path, size_t path_len, durward_pdp **pdp, durward_error **error);

/* Takes policies as texts. */
durward_code durward_pdp_from_texts(const durward_policy *policies, size_t count, durward_pdp **pdp, durward_error **error);

/* Reads the policies again from where they were read, and puts them in force. If they are broken, those in force stay. */
durward_code durward_reload(const durward_pdp *pdp, durward_error **error);

/* Puts these policies in force in place of those there are. If they are broken, those in force stay. */
durward_code durward_replace(const durward_pdp *pdp, const durward_policy *policies, size_t count, durward_error **error);

void durward_free_pdp(durward_pdp *pdp);

/* Decisions. ----------------------------------------------------------------------------------------------------------------- */

/*
 * Answers a subscription of SAPL, a text of JSON: {"subject": .., "action": .., "resource": .., "environment": ..}. Policies of XACML see its
 * values as attributes.
 *
 * `answer` gets null where the outcome is all there is, as it mostly is, and nothing is allocated for the caller. Else it gets the whole decision,
 * with obligations, advice and resource. `answer` itself may be null; then a permit with obligations or another resource is DURWARD_UNSEEN, no permit.
 */
durward_code durward_decide(const durward_pdp *pdp, const char *subscription, size_t len, durward_outcome *outcome, durward_answer **answer, durward_error **error);

/*
 * Answers many, each as `durward_decide` does; `decisions` has room for as many, and gets them in their order. The code is DURWARD_OK though some of
 * them failed: each has its own. `durward_free_decisions` frees what is in them.
 */
durward_code durward_decide_many(const durward_pdp *pdp, const durward_text *subscriptions, size_t count, durward_decision *decisions, durward_error **error);

/*
 * Answers a request of XACML 3.0 or 2.0 in XML, or in JSON of its profile; the text of the answer is a response of the same form. What cannot be
 * decided is an Indeterminate result that says why.
 */
durward_code durward_decide_request(const durward_pdp *pdp, const char *request, size_t len, durward_answer **answer, durward_error **error);

/* Says why a subscription is answered as it is: the text of the answer in words, its JSON for programs. */
durward_code durward_explain(const durward_pdp *pdp, const char *subscription, size_t len, durward_answer **answer, durward_error **error);

/* The same for a request of XACML. */
durward_code durward_explain_request(const durward_pdp *pdp, const char *request, size_t len, durward_answer **answer, durward_error **error);

/* The text of an answer: a decision in JSON, a response in the form of its request, an explanation in words. It lives as long as the answer.
 * `len` may be null. */
const char *durward_answer_text(const durward_answer *answer, size_t *len);

/* The same in JSON where there is such a form: for explanations. */
const char *durward_answer_json(const durward_answer *answer, size_t *len);

void durward_free_answer(durward_answer *answer);

/* Frees answers and errors of `durward_decide_many`, not the array itself, and leaves it with nothing decided. */
void durward_free_decisions(durward_decision *decisions, size_t count);

/* Decisions that follow one another. ----------------------------------------------------------------------------------------- */

/*
 * Decides a subscription again whenever another decision comes of it: because time goes by, or because other policies were put in force. The first
 * one starts a thread, which ends with the decision point. A watch may outlive its decision point, and then has no more decisions.
 */
durward_code durward_watch_open(const durward_pdp *pdp, const char *subscription, size_t len, durward_watch **watch, durward_error **error);

/*
 * Waits for the next decision: the first at once, then each that is unlike the one before. DURWARD_NOTHING after `wait_ms` milliseconds without one,
 * where a negative number is no limit; DURWARD_CLOSED once the watch is closed. Whoever is slow sees only the latest, and never one of policies that
 * were replaced. Where several threads wait, each decision goes to one of them. `answer` is as in `durward_decide`. With any code but DURWARD_OK and DURWARD_NOTHING, what was decided before
 * holds no longer.
 */
durward_code durward_watch_next(const durward_watch *watch, int64_t wait_ms, durward_outcome *outcome, durward_answer **answer, durward_error **error);

/* Ends the watch: every thread that waits gets DURWARD_CLOSED. Free it when they have. */
durward_code durward_watch_close(const durward_watch *watch, durward_error **error);

void durward_free_watch(durward_watch *watch);

/* Errors. -------------------------------------------------------------------------------------------------------------------- */

/* The code that the function gave; DURWARD_OK for a null pointer. */
durward_code durward_error_code(const durward_error *error);

/* What is wrong, and where, in the words of whoever wrote the policy or the question. It lives as long as the error. `len` may be null. */
const char *durward_error_message(const durward_error *error, size_t *len);

void durward_free_error(durward_error *error);

#ifdef __cplusplus
}
#endif

#endif
