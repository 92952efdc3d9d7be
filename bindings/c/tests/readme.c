#include <durward.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    const char *written = "policy \"doctors\" permit subject.role == \"doctor\"; obligation { \"log\": resource }";
    durward_policy policy = {{"doctors.sapl", 12}, {written, strlen(written)}};
    durward_pdp *pdp = NULL;
    durward_error *error = NULL;
    if (durward_pdp_from_texts(&policy, 1, &pdp, &error) != DURWARD_OK) {
        fprintf(stderr, "%s\n", durward_error_message(error, NULL));
        durward_free_error(error);
        return 1;
    }
    const char *asked = "{\"subject\":{\"role\":\"doctor\"},\"action\":\"read\",\"resource\":\"record\"}";
    durward_outcome outcome;
    durward_answer *answer = NULL;
    durward_code code = durward_decide(pdp, asked, strlen(asked), &outcome, &answer, NULL);
    if (code == DURWARD_OK && outcome == DURWARD_PERMIT) {
        /* Grant access only if you meet its obligations; where `answer` is null, there are none. */
        puts(answer == NULL ? "permit" : durward_answer_text(answer, NULL));
    }
    durward_free_answer(answer);
    durward_free_pdp(pdp);
    return 0;
}
