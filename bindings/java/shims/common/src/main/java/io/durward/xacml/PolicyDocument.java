package io.durward.xacml;

import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/**
 * A file with a policy or a policy set.
 *
 * @param name by which messages call it
 * @param text what is in it
 * @param id PolicyId or PolicySetId
 * @param version its version
 * @param isSet whether it is a policy set
 * @param references the identifiers of policies and policy sets that it refers to
 * @param designators the attributes that it asks for
 */
public record PolicyDocument(
        String name,
        String text,
        String id,
        String version,
        boolean isSet,
        Set<String> references,
        Set<Designator> designators) {
    private static final String BYTE_ORDER_MARK = "\uFEFF";

    /** Checks that nothing is null. */
    public PolicyDocument {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(text, "text");
        Objects.requireNonNull(id, "id");
        Objects.requireNonNull(version, "version");
        references = Set.copyOf(references);
        designators = Set.copyOf(designators);
    }

    /**
     * Reads a text.
     *
     * @throws IllegalArgumentException it is no policy; with its place
     */
    public static PolicyDocument of(String name, String text) {
        return PolicyScanner.scan(name, text, new StringReader(text));
    }

    /**
     * Reads a file.
     *
     * @throws IllegalArgumentException it cannot be read, is not in UTF-8, or is no policy
     */
    public static PolicyDocument read(Path file) {
        try {
            String text = Files.readString(file, StandardCharsets.UTF_8);
            return of(file.toString(), text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text);
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException("cannot read `" + file + "`: it is not in UTF-8", error);
        } catch (IOException error) {
            throw new IllegalArgumentException("cannot read `" + file + "`: " + error, error);
        }
    }

    /**
     * Reads files and folders. Of a folder, all files in it are read but hidden ones, and none in folders below it.
     *
     * @throws IllegalArgumentException one of them cannot be read or is no policy
     */
    public static List<PolicyDocument> readAll(Collection<Path> places) {
        List<PolicyDocument> documents = new ArrayList<>();
        for (Path place : places) {
            filesOf(place).forEach(file -> documents.add(read(file)));
        }
        return documents;
    }

    private static List<Path> filesOf(Path place) {
        if (!Files.isDirectory(place)) {
            return List.of(place);
        }
        try (Stream<Path> files = Files.list(place)) {
            return files.filter(file -> Files.isRegularFile(file) && !file.toFile().isHidden())
                    .sorted()
                    .toList();
        } catch (IOException error) {
            throw new IllegalArgumentException("cannot read the folder `" + place + "`: " + error, error);
        }
    }
}
