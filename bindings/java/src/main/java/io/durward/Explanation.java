package io.durward;

/**
 * Why a question is answered as it is.
 *
 * @param text in words, many lines
 * @param json the same, for programs
 */
public record Explanation(String text, String json) {}
