/**
 * The mathematics of positions in plain Java: frequencies, layouts and exact tables. It does not depend on a tensor
 * library. Unless noted otherwise, null arguments result in a {@link NullPointerException}.
 */
package io.github.djlpositional.math;
