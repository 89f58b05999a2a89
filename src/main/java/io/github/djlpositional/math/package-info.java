/**
 * The mathematics of positions in plain Java: frequencies, layouts and exact tables. It does not depend on a tensor
 * library.
 */
package io.github.djlpositional.math;
