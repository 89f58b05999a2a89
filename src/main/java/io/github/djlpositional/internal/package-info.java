/**
 * The implementation that the blocks share. It is not part of the API: it is public only because several packages use
 * it, and may change in any release.
 */
package io.github.djlpositional.internal;
