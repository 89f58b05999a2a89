/** Programs that read like a notebook: text, code, result, picture. */
package io.github.djlpositional.examples.notebooks;
