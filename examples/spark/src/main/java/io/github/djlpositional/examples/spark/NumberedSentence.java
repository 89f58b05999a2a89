package io.github.djlpositional.examples.spark;

import java.io.Serializable;

/**
 * A sentence, and its place in the corpus, which tells it from others of the same words.
 *
 * @param id its line in the input, counted from 0
 * @param sentence the line
 */
record NumberedSentence(long id, String sentence) implements Serializable {}
