package io.durward;

/** The text is no subscription of SAPL, or no request of XACML. */
public class QuestionException extends DurwardException {
    private static final long serialVersionUID = 1;

    QuestionException(String message) {
        super(message);
    }
}
