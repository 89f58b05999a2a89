/** The blocks of this library by name, for arguments. It is not part of the API. */
package io.github.djlpositional.internal.types;
