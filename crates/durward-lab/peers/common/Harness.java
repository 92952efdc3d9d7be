import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * Drives one engine from outside. Arguments: the folder with the one policy file, then either `--serve PORT`, for which
 * {@link HttpFront} answers, or the file of requests. Then it reads commands on standard input, one a line, and answers
 * each with one line.
 *
 * <pre>
 * decisions FILE   decides every request once and writes the decisions, one a line; answers `ok COUNT`
 * parsed SECONDS   parsed request to decision, for that long; answers `ok DECISIONS_PER_SECOND`
 * text SECONDS     XML text to XML text, for that long; answers the same
 * </pre>
 *
 * The process lives through all measurements, so that the virtual machine is warm in all but the first.
 */
final class Harness {
    /** One engine, loaded with one policy. */
    interface Engine {
        /** A request as the engine wants it. */
        Object parse(String xml) throws Exception;

        /** The decision's name of one parsed request. */
        String decide(Object request) throws Exception;

        /** The response's XML to the request's XML. Several threads may ask at once. */
        String answer(String xml) throws Exception;
    }

    /** Keeps results alive, so that no work can be left out. */
    private static long sink;

    private final Engine engine;
    private final List<String> texts;
    private final List<Object> requests = new ArrayList<>();
    private final PrintStream out;

    private Harness(Engine engine, List<String> texts, PrintStream out) throws Exception {
        this.engine = engine;
        this.texts = texts;
        this.out = out;
        for (String text : texts) {
            requests.add(engine.parse(text));
        }
    }

    /** Takes over the process. Whatever the engine itself prints goes to standard error. */
    static void run(Callable<Engine> load, String[] arguments) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        if (arguments[1].startsWith("--")) {
            HttpFront.run(load, arguments, out);
        } else {
            new Harness(load.call(), Files.readAllLines(Path.of(arguments[1])), out).serve();
        }
    }

    private void serve() throws Exception {
        out.println("ok " + requests.size());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "decisions" -> decisions(words[1]);
                case "parsed" -> measure(Double.parseDouble(words[1]), index -> engine.decide(requests.get(index)));
                case "text" -> measure(Double.parseDouble(words[1]), index -> engine.answer(texts.get(index)));
                default -> out.println("error unknown command " + words[0]);
            }
        }
    }

    private void decisions(String file) throws Exception {
        List<String> found = new ArrayList<>();
        for (Object request : requests) {
            found.add(engine.decide(request));
        }
        Files.write(Path.of(file), found);
        out.println("ok " + found.size());
    }

    private interface Step {
        String at(int index) throws Exception;
    }

    /**
     * Goes through all requests again and again. The answer is the median over rounds of 100 ms, as `durward bench`
     * measures it: what else the machine did in some of the rounds does not count.
     */
    private void measure(double seconds, Step step) throws Exception {
        long end = System.nanoTime() + (long) (seconds * 1e9);
        List<Double> rates = new ArrayList<>();
        int index = 0;
        while (System.nanoTime() < end) {
            long begin = System.nanoTime();
            long now = begin;
            long count = 0;
            while (now - begin < 100_000_000) {
                for (int batch = 0; batch < 20; batch++) {
                    sink += step.at(index).length();
                    index = index + 1 == requests.size() ? 0 : index + 1;
                }
                count += 20;
                now = System.nanoTime();
            }
            rates.add(count * 1e9 / (now - begin));
        }
        Collections.sort(rates);
        out.println("ok " + rates.get(rates.size() / 2) + " " + (sink & 1));
    }
}
