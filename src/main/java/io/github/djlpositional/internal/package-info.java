/**
 * The implementation that the blocks share. It is not part of the API. It is public only because several packages use
 * it, and it may change in any release.
 */
package io.github.djlpositional.internal;
