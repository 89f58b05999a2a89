/** The implementation of configurations, in plain Java. It is not part of the API, and may change in any release. */
package io.github.djlpositional.arguments.internal;
