package io.durward.spring;

import jakarta.servlet.http.HttpServletRequest;
import java.util.Map;
import java.util.stream.Collectors;
import org.springframework.security.authentication.AnonymousAuthenticationToken;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.GrantedAuthority;
import org.springframework.security.web.access.intercept.RequestAuthorizationContext;

/** The question that is asked unless the program writes its own; and what writing one takes. */
public final class Questions {
    private Questions() {}

    /**
     * {@code {"subject": {"name", "authorities"}, "action": METHOD, "resource": {"path", "variables"}}}; the subject is null if nobody has logged in.
     *
     * <p>The path is decoded, as Spring compares it with patterns; what could be read in two ways, Spring's firewall has refused before.
     *
     * @param user who asks
     * @param context the request
     * @return the text of the subscription
     */
    public static String of(Authentication user, RequestAuthorizationContext context) {
        HttpServletRequest request = context.getRequest();
        String path = request.getServletPath() + (request.getPathInfo() == null ? "" : request.getPathInfo());
        return "{\"subject\":" + subject(user) + ",\"action\":" + text(request.getMethod()) + ",\"resource\":{\"path\":" + text(path)
                + ",\"variables\":" + object(context.getVariables()) + "}}";
    }

    /**
     * A user as JSON: {@code {"name", "authorities"}}, or null.
     *
     * @param user who asks
     * @return JSON
     */
    public static String subject(Authentication user) {
        if (user == null || !user.isAuthenticated() || user instanceof AnonymousAuthenticationToken) {
            return "null";
        }
        String authorities = user.getAuthorities().stream()
                .map(GrantedAuthority::getAuthority)
                // Of the kind that has no text.
                .filter(authority -> authority != null)
                .map(Questions::text)
                .collect(Collectors.joining(",", "[", "]"));
        return "{\"name\":" + text(user.getName()) + ",\"authorities\":" + authorities + "}";
    }

    private static String object(Map<String, String> members) {
        return members.entrySet().stream()
                .map(member -> text(member.getKey()) + ":" + text(member.getValue()))
                .collect(Collectors.joining(",", "{", "}"));
    }

    /**
     * A text as JSON.
     *
     * @param value the text
     * @return JSON, quotation marks included
     */
    public static String text(String value) {
        StringBuilder out = new StringBuilder(value.length() + 2).append('"');
        for (int at = 0; at < value.length(); at++) {
            char one = value.charAt(at);
            if (one == '"' || one == '\\') {
                out.append('\\').append(one);
            } else if (one < ' ') {
                out.append(String.format("\\u%04x", (int) one));
            } else {
                out.append(one);
            }
        }
        return out.append('"').toString();
    }
}
