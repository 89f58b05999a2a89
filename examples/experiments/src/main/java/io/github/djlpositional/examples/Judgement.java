package io.github.djlpositional.examples;

import java.util.List;

/**
 * An encoder's answer for a sentence.
 *
 * @param inOrder the probability that the words are in order, from 0 to 1
 * @param embedding the mean of the token vectors after the last layer; as many numbers as the encoder's embedding size
 */
public record Judgement(double inOrder, List<Float> embedding) {}
