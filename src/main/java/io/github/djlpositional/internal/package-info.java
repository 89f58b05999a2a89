/**
 * What the blocks are made of: settings, constant arrays, checks. No part of the library's API; it may change at any time.
 */
package io.github.djlpositional.internal;
