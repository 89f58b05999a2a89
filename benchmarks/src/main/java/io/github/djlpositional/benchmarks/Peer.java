package io.github.djlpositional.benchmarks;

import java.util.function.UnaryOperator;

/** What a case is compared with: another operation, or the same one elsewhere. */
interface Peer {

    /** The usual module of PyTorch in Python. */
    Peer PYTHON = new SameOperation("Python", own -> own.on(Case.PYTHON));

    /** An attention without positions and masks. */
    Peer NONE = new SameOperation("none", own -> own.with(AttentionKind.NONE));

    /** The name of the column. */
    String column();

    Case beside(Case own);

    /** The same operation elsewhere, or of another kind. */
    record SameOperation(String column, UnaryOperator<Case> change) implements Peer {

        @Override
        public Case beside(Case own) {
            return change.apply(own);
        }
    }
}
