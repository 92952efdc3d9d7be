package io.durward.xacml;

/**
 * An attribute that a policy asks for.
 *
 * @param category the category of subject, resource, action, environment or another
 * @param attributeId what it is called
 * @param dataType the type of its values
 * @param issuer who must have issued it; null for anybody
 */
public record Designator(String category, String attributeId, String dataType, String issuer) {
    private static final String ENVIRONMENT = "urn:oasis:names:tc:xacml:3.0:attribute-category:environment";
    private static final String CURRENT = "urn:oasis:names:tc:xacml:1.0:environment:current-";

    /** Whether it is the time or the date, which the decision point knows itself. */
    public boolean isCurrentTime() {
        return ENVIRONMENT.equals(category) && attributeId.startsWith(CURRENT);
    }
}
