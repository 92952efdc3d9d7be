package io.durward;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Takes JSON that the library wrote apart, one level deep: it is known to be right and to have no spaces between its parts. */
final class JsonParts {
    private final String text;
    private int at = 1;

    private JsonParts(String text) {
        this.text = text;
    }

    /** The members of an object, in their order; names have no escapes. */
    static Map<String, String> members(String object) {
        JsonParts parts = new JsonParts(object);
        Map<String, String> members = new LinkedHashMap<>();
        while (parts.hasMore()) {
            String name = parts.next();
            members.put(name.substring(1, name.length() - 1), parts.next());
        }
        return members;
    }

    /** The elements of an array, in their order. */
    static List<String> elements(String array) {
        JsonParts parts = new JsonParts(array);
        List<String> elements = new ArrayList<>();
        while (parts.hasMore()) {
            elements.add(parts.next());
        }
        return elements;
    }

    /** Whether there is more than the bracket at the end. */
    private boolean hasMore() {
        return at < text.length() - 1;
    }

    /** The text up to the comma, colon or bracket that ends it, which is passed. */
    private String next() {
        int start = at;
        int depth = 0;
        for (; at < text.length() - 1; at++) {
            char here = text.charAt(at);
            if (here == '"') {
                passString();
            } else if (here == '{' || here == '[') {
                depth++;
            } else if (here == '}' || here == ']') {
                depth--;
            } else if (depth == 0 && (here == ',' || here == ':')) {
                break;
            }
        }
        return text.substring(start, at++);
    }

    /** From the quote that begins a string to the one that ends it. */
    private void passString() {
        at++;
        while (text.charAt(at) != '"') {
            at += text.charAt(at) == '\\' ? 2 : 1;
        }
    }
}
