package io.durward;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;

/** The functions of {@code durward.h}, and what its codes are in Java. */
@SuppressWarnings("restricted")
final class Native {
    static final int OK = 0;
    private static final int POLICIES = 1;
    private static final int QUESTION = 2;
    private static final int MISUSE = 4;
    static final int NOTHING = 6;
    static final int CLOSED = 7;

    private static final Linker LINKER = Linker.nativeLinker();
    private static final SymbolLookup LIBRARY = Library.load();

    static final MethodHandle FROM_DIR = code("durward_pdp_from_dir", ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
    static final MethodHandle FROM_TEXTS = code("durward_pdp_from_texts", ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
    static final MethodHandle RELOAD = code("durward_reload", ADDRESS, ADDRESS);
    static final MethodHandle REPLACE = code("durward_replace", ADDRESS, ADDRESS, JAVA_LONG, ADDRESS);
    static final MethodHandle DECIDE =
            code("durward_decide", ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS);
    static final MethodHandle DECIDE_MANY =
            code("durward_decide_many", ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
    static final MethodHandle DECIDE_REQUEST = asking("durward_decide_request");
    static final MethodHandle EXPLAIN = asking("durward_explain");
    static final MethodHandle EXPLAIN_REQUEST = asking("durward_explain_request");
    static final MethodHandle WATCH_OPEN = asking("durward_watch_open");
    static final MethodHandle WATCH_NEXT =
            code("durward_watch_next", ADDRESS, JAVA_LONG, ADDRESS, ADDRESS, ADDRESS);
    static final MethodHandle WATCH_CLOSE = code("durward_watch_close", ADDRESS, ADDRESS);
    static final MethodHandle FREE_PDP = free("durward_free_pdp");
    static final MethodHandle FREE_WATCH = free("durward_free_watch");
    private static final MethodHandle FREE_ANSWER = free("durward_free_answer");
    private static final MethodHandle FREE_ERROR = free("durward_free_error");
    static final MethodHandle FREE_DECISIONS =
            function("durward_free_decisions", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG));
    private static final MethodHandle ANSWER_TEXT = text("durward_answer_text");
    private static final MethodHandle ANSWER_JSON = text("durward_answer_json");
    private static final MethodHandle ERROR_MESSAGE = text("durward_error_message");
    private static final MethodHandle ERROR_CODE = code("durward_error_code", ADDRESS);
    private static final MethodHandle VERSION = function("durward_version", FunctionDescriptor.of(ADDRESS));

    private Native() {}

    private static MethodHandle function(String name, FunctionDescriptor descriptor) {
        MemorySegment symbol = LIBRARY.find(name)
                .orElseThrow(() -> new UnsatisfiedLinkError("the library of durward has no `" + name + "`"));
        return LINKER.downcallHandle(symbol, descriptor);
    }

    private static MethodHandle code(String name, MemoryLayout... arguments) {
        return function(name, FunctionDescriptor.of(JAVA_INT, arguments));
    }

    /** A question with its length goes in, a handle comes out. */
    private static MethodHandle asking(String name) {
        return code(name, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS, ADDRESS);
    }

    private static MethodHandle text(String name) {
        return function(name, FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS));
    }

    private static MethodHandle free(String name) {
        return function(name, FunctionDescriptor.ofVoid(ADDRESS));
    }

    /** What a function gives that frees something. */
    static void release(MethodHandle free, MemorySegment handle) {
        try {
            free.invokeExact(handle);
        } catch (Throwable error) {
            throw unexpected(error);
        }
    }

    /** The text of an answer, which is freed. */
    static String takeText(MemorySegment answer, MemorySegment length) {
        try {
            return lent(ANSWER_TEXT, answer, length);
        } finally {
            release(FREE_ANSWER, answer);
        }
    }

    /** The texts of an explanation, which is freed. */
    static Explanation takeExplanation(MemorySegment answer, MemorySegment length) {
        try {
            return new Explanation(lent(ANSWER_TEXT, answer, length), lent(ANSWER_JSON, answer, length));
        } finally {
            release(FREE_ANSWER, answer);
        }
    }

    /** What an error is in Java; it is freed. */
    static RuntimeException takeError(int code, MemorySegment error, MemorySegment length) {
        String message;
        try {
            message = lent(ERROR_MESSAGE, error, length);
        } finally {
            release(FREE_ERROR, error);
        }
        return switch (code) {
            case POLICIES -> new PolicyException(message);
            case QUESTION -> new QuestionException(message);
            case MISUSE -> new IllegalArgumentException(message);
            default -> new DurwardException(message);
        };
    }

    /** What the error of one of many is in Java; it stays. */
    static DurwardException errorOf(MemorySegment error, MemorySegment length) {
        try {
            String message = lent(ERROR_MESSAGE, error, length);
            boolean isQuestion = (int) ERROR_CODE.invokeExact(error) == QUESTION;
            return isQuestion ? new QuestionException(message) : new DurwardException(message);
        } catch (RuntimeException | Error known) {
            throw known;
        } catch (Throwable unknown) {
            throw unexpected(unknown);
        }
    }

    /** The text of one of many answers, which stays. */
    static String textOf(MemorySegment answer, MemorySegment length) {
        return lent(ANSWER_TEXT, answer, length);
    }

    private static String lent(MethodHandle function, MemorySegment handle, MemorySegment length) {
        try {
            MemorySegment text = (MemorySegment) function.invokeExact(handle, length);
            byte[] bytes = text.reinterpret(length.get(JAVA_LONG, 0)).toArray(JAVA_BYTE);
            return new String(bytes, StandardCharsets.UTF_8);
        } catch (RuntimeException | Error known) {
            throw known;
        } catch (Throwable unknown) {
            throw unexpected(unknown);
        }
    }

    static String version() {
        try {
            MemorySegment version = (MemorySegment) VERSION.invokeExact();
            return version.reinterpret(64).getString(0);
        } catch (Throwable error) {
            throw unexpected(error);
        }
    }

    /** Functions of C throw nothing; what calling them throws of its own is a state or an error of the virtual machine. */
    static RuntimeException unexpected(Throwable error) {
        if (error instanceof RuntimeException known) {
            return known;
        }
        if (error instanceof Error known) {
            throw known;
        }
        return new IllegalStateException(error);
    }
}
