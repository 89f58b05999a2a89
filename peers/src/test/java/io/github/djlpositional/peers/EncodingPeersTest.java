package io.github.djlpositional.peers;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;
import ai.djl.MalformedModelException;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Compares blocks with what Python packages computed. {@code dump.py} wrote the cases into the folder of the system
 * property {@code peers}; every third one also runs on MXNet.
 */
@WithDumps
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class EncodingPeersTest {

    /** What the library makes of a case. */
    interface Library {
        NDArray result(Peers peers) throws Exception;
    }

    /** Of the relative error in FLOAT32: some hundred roundings of 6e-8 each. */
    private static final double LIMIT = 2e-5;

    private final String section;
    private final Map<String, Library> kinds;
    private final List<PeerCase> cases;
    private final Map<String, Comparison> rows = new TreeMap<>();

    /**
     * Reads the cases of a part.
     *
     * @param section the heading of its table in {@code docs/trust.md}
     * @param kinds the library's side of each kind of case
     */
    EncodingPeersTest(String part, String section, Map<String, Library> kinds)
            throws IOException, MalformedModelException {
        this.section = section;
        this.kinds = kinds;
        cases = PeerCase.of(Path.of(System.getProperty("peers")), part);
    }

    Stream<Arguments> cases() {
        return IntStream.range(0, cases.size())
                .boxed()
                .flatMap(i -> Stream.of("PyTorch", "MXNet")
                        .filter(engine -> engine.equals("PyTorch") || i % 3 == 0)
                        .map(engine -> Arguments.of(cases.get(i), engine)));
    }

    @ParameterizedTest
    @MethodSource("cases")
    void equalsThePackage(PeerCase peer, String engine) throws Exception {
        assertThat(kinds).containsKey(peer.kind());
        try (NDManager manager = NDManager.newBaseManager(Device.cpu(), engine)) {
            NDArray result = kinds.get(peer.kind()).result(new Peers(manager, peer));
            rows.computeIfAbsent("`" + peer.block() + "` | " + peer.peer(), row -> new Comparison())
                    .requireEqual(result, peer.array(manager, "y"), peer.has("limit") ? peer.number("limit") : LIMIT);
        }
    }

    @Test
    void everyKindHasCases() {
        assertThat(cases.stream().map(PeerCase::kind)).containsAll(kinds.keySet());
    }

    /** A comparison that failed is not counted, so that the table differs, too. */
    @AfterAll
    void theTableSaysWhatWasCompared() throws IOException {
        List<List<String>> table = new ArrayList<>();
        rows.forEach((row, comparison) -> table.add(List.of(row, "" + comparison.count(), comparison.largest())));
        TrustPage.requireTable(section, List.of("block", "package", "comparisons", "largest error"), table);
    }
}
