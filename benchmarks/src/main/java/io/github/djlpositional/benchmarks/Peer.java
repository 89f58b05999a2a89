package io.github.djlpositional.benchmarks;

import java.util.function.UnaryOperator;

/** What a case is compared with: another operation, or the same one elsewhere. */
interface Peer {

    /** The usual module of PyTorch in Python. */
    Peer PYTHON = of("Python", own -> own.on(Case.PYTHON));

    /** An attention without positions and masks. */
    Peer NONE = of("none", own -> own.with(AttentionKind.NONE));

    /** The name of the column. */
    String column();

    Case beside(Case own);

    private static Peer of(String column, UnaryOperator<Case> beside) {
        record Named(String column, UnaryOperator<Case> of) implements Peer {
            @Override
            public Case beside(Case own) {
                return of.apply(own);
            }
        }
        return new Named(column, beside);
    }
}
