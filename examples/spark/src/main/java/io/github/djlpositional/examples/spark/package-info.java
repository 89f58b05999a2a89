/** A job for Apache Spark that judges a corpus of sentences with a saved encoder. */
package io.github.djlpositional.examples.spark;
