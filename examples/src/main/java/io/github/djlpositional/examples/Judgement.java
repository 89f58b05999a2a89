package io.github.djlpositional.examples;

import java.util.List;

/**
 * What an encoder makes of a sentence.
 *
 * @param inOrder the probability that its words are in order, from 0 to 1
 * @param embedding the mean of what its tokens have become, as many numbers as the encoder's embedding size
 */
public record Judgement(double inOrder, List<Float> embedding) {

    /**
     * Keeps a copy of the embedding.
     *
     * @param inOrder the probability that its words are in order, from 0 to 1
     * @param embedding the mean of what its tokens have become
     */
    public Judgement {
        embedding = List.copyOf(embedding);
    }
}
