/**
 * Published models from folders in Hugging Face's format: {@link io.github.djlpositional.huggingface.HuggingFaceModel}
 * loads whole models, and {@link io.github.djlpositional.huggingface.HuggingFaceConfig} builds parts of them.
 */
package io.github.djlpositional.huggingface;
