package io.github.djlpositional.benchmarks;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;

/**
 * A row of a table: a case of this library, and those it is compared with.
 *
 * @param own the case of this library
 * @param peers the other cases, by the column
 */
record Row(Case own, Map<String, Case> peers) {

    static Row of(Case own, Peer... peers) {
        Map<String, Case> cases = new LinkedHashMap<>();
        for (Peer peer : peers) {
            Case beside = peer.beside(own);
            if (beside.exists()) {
                cases.put(peer.column(), beside);
            }
        }
        return new Row(own, cases);
    }

    /** The same with small shapes. */
    Row quick() {
        Map<String, Case> quick = new LinkedHashMap<>();
        peers.forEach((column, peer) -> quick.put(column, peer.quick()));
        return new Row(own.quick(), quick);
    }

    Stream<Case> cases() {
        return Stream.concat(peers.values().stream(), Stream.of(own));
    }
}
