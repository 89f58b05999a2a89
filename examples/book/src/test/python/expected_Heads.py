"""The rows of expected/Heads.txt on the published encoder."""
import csv, json, pathlib
import numpy as np
import minilm
from expected import row

MAIN = pathlib.Path(__file__).parents[2] / "main"
PROGRAM = (MAIN / "java/io/github/djlpositional/examples/book/Heads.java").read_text()
SENTENCES = [line.strip(' ",);') for line in PROGRAM.split("SENTENCES = List.of(")[1].split(");")[0].strip().split("\n")]


def at(maps, head, distance):
    return np.concatenate([np.diagonal(m[head], -distance) for m in maps])


def same(maps, itself):
    """The mean weight of repeated words to themselves, or to their repetitions."""
    texts = [[None, *sentence.split()] for sentence in SENTENCES]
    return np.mean([m[own][t, [k for k, word in enumerate(words) if word == words[t] and (k == t) == itself]].mean()
                    for m, words in zip(maps, texts) for t in range(len(words)) if words.count(words[t]) > 1])


w = minilm.weights()
turned, bare = ([minilm.attention(w, s.split(), p) for s in SENTENCES] for p in (True, False))
heads = sorted(np.ndindex(6, 12), key=lambda h: -at(turned, h, 1).mean())
for i, j in heads[:5]:
    row(f"layer {i + 1}, head {j + 1}: {at(turned, (i, j), 1).mean():.3f} with, {at(bare, (i, j), 1).mean():.3f} without")
full, left = at(turned, heads[0], 1), np.sort(at(bare, heads[0], 1))
half, sizes = left[len(left) // 2], np.array([m.shape[-1] for m in turned])
equal = np.average(1 / sizes, weights=sizes - 1)
by_letters = [minilm.attention(w, sorted(s.split())) for s in SENTENCES]
vocabulary = json.loads(minilm.FILES.read("all-minilm-l6-v2-tokenizer.json"))["model"]["vocab"]
vocabulary = [word for word in vocabulary if word.isalpha() and len(word) > 2]
drawn = at([minilm.attention(w, np.random.default_rng(i).choice(vocabulary, 20)) for i in range(50)], heads[0], 1)
own = max(heads, key=lambda h: at(bare, h, 0).mean())
for line in f"""{len(full)} tokens, smallest weight {full.min():.4f}
    without: half below {half:.3f}, largest {left[-1]:.3f}
    give {len(full)} tokens that have one before them
    {full.mean():.3f} to three decimals. Without positions {left.mean():.3f} of it is left
    would give {equal:.3f}, so that is {left.mean() / equal:.1f} times as much
    the smallest weight of the token before is {full.min():.4f}
    rose*, it is {at(by_letters, heads[0], 1).min():.4f}: which word
    words drawn from the model's vocabulary, {100 * (drawn > 0.99).mean():.0f} %
    more than 0.99, but one gives it only {drawn.min():.2f}
    half of the tokens give it less than {half:.3f}
    a few give it up to {left[-1]:.3f}
    The mean of {left.mean():.3f} describes neither
    Layer {own[0] + 1}, head {own[1] + 1} does this best
    | with | {" | ".join(f"{turned[0][own][5, key]:.4f}" for key in (2, 5, 8))} |
    | without | {" | ".join(f"{bare[0][own][5, key]:.4f}" for key in (2, 5, 8))} |
    a word gives itself {same(turned, True):.4f} and each repetition {same(turned, False):.4f}""".split("\n"):
    row(line)
