package io.durward;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Finds the library of this machine: the file that the property {@code durward.library} names, or the one in the jar, which is copied into a folder
 * that no other user can write to. It stays loaded until the program ends.
 */
@SuppressWarnings("restricted")
final class Library {
    private Library() {}

    static SymbolLookup load() {
        String named = System.getProperty("durward.library");
        if (named != null) {
            return SymbolLookup.libraryLookup(Path.of(named).toAbsolutePath(), Arena.global());
        }
        String resource = "natives/" + platform() + "/" + System.mapLibraryName("durward");
        try (InputStream library = Library.class.getResourceAsStream("/" + resource)) {
            if (library == null) {
                throw new UnsatisfiedLinkError("the jar of durward has no `" + resource
                        + "`: build it for this machine, or name a library by the property `durward.library`");
            }
            return loadCopy(library);
        } catch (IOException error) {
            throw new UncheckedIOException("cannot copy the library of durward out of its jar", error);
        }
    }

    private static SymbolLookup loadCopy(InputStream library) throws IOException {
        Path folder = Files.createTempDirectory("durward");
        Path copy = folder.resolve(System.mapLibraryName("durward"));
        try {
            Files.copy(library, copy);
            return SymbolLookup.libraryLookup(copy, Arena.global());
        } finally {
            // What is loaded needs no name any more, but on Windows.
            if (isWindows()) {
                copy.toFile().deleteOnExit();
                folder.toFile().deleteOnExit();
            } else {
                Files.deleteIfExists(copy);
                Files.deleteIfExists(folder);
            }
        }
    }

    private static boolean isWindows() {
        return System.getProperty("os.name").startsWith("Windows");
    }

    /** As folders in the jar are called: {@code linux-x86_64}, {@code macos-aarch64}. */
    private static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        String processor = System.getProperty("os.arch");
        String name = isWindows() ? "windows" : system.startsWith("mac") ? "macos" : system;
        return name + "-" + (processor.equals("amd64") ? "x86_64" : processor);
    }
}
