/**
 * The mathematics of positions in plain Java: frequencies, layouts and exact tables. Nothing here knows a tensor library.
 */
package io.github.djlpositional.math;
