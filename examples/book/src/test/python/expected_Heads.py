import csv, json, pathlib
import numpy as np
import minilm
from expected import row

TRAINED = pathlib.Path(__file__).parents[2] / "main/resources/trained"
PROGRAM = (pathlib.Path(__file__).parents[2] / "main/java/io/github/djlpositional/examples/book/Heads.java").read_text()
SENTENCES = [line.strip(' ",);') for line in PROGRAM.split("SENTENCES = List.of(")[1].split(");")[0].strip().split("\n")]


def at(maps, head, distance):
    return np.concatenate([np.diagonal(m[head], -distance) for m in maps])


def same(maps, itself):
    """The mean weight of repeated words to themselves, or to their repetitions."""
    means = []
    for weights, sentence in zip(maps, SENTENCES):
        words = ["", *sentence.split(), "."]
        for t, word in enumerate(words):
            keys = [k for k, other in enumerate(words) if other == word and (k == t) == itself]
            if words.count(word) > 1:
                means.append(weights[own][t, keys].mean())
    return np.mean(means)


def name(head):
    return f"layer {head[0] + 1}, head {head[1] + 1}"


w = minilm.weights()
turned, bare = ([minilm.attention(w, s.split(), p) for s in SENTENCES] for p in (True, False))
heads = sorted(((i, j) for i in range(6) for j in range(12)), key=lambda h: -at(turned, h, 1).mean())
for h in heads[:5]:
    row(f"{name(h)}: {at(turned, h, 1).mean():.3f}, without {at(bare, h, 1).mean():.3f}")
full, left = at(turned, heads[0], 1), np.sort(at(bare, heads[0], 1))
equal = np.concatenate([np.full(m.shape[-1] - 1, 1 / m.shape[-1]) for m in turned]).mean()
row(f"{len(full)} tokens, smallest weight {full.min():.4f}")
row(f"without: half below {left[len(left) // 2]:.3f}, largest {left[-1]:.3f}")
row(f"that these {len(full)} tokens give to the token before")
for maps in turned, bare:
    rose = at(maps[:1], heads[0], 1)
    row(f"print(before()) # from {rose.min():.4f} to {rose.max():.4f}")
words = sum(len(s.split()) for s in SENTENCES)
row(f"In them, {words} words and {len(full) - words} `[SEP]` have", "count")
row(f"attention: {full.mean():.3f} is rounded. Without positions {left.mean():.3f} of it is left")
row(f"would give {equal:.3f}, {left.mean() / equal:.1f} times less")
row(f"the smallest weight of the token before is {full.min():.4f}")
least = np.concatenate([minilm.attention(w, sorted(s.split()))[heads[0]].diagonal(-1) for s in SENTENCES]).min()
row(f"rose*, it is {least:.4f}: which word")
vocabulary = json.loads(minilm.FILES.read("all-minilm-l6-v2-tokenizer.json"))["model"]["vocab"]
vocabulary = [word for word in vocabulary if word.isalpha() and len(word) > 2]
drawn = np.concatenate([minilm.attention(w, np.random.default_rng(i).choice(vocabulary, 20))[heads[0]].diagonal(-1)
                        for i in range(50)])
row(f"words drawn from the model's vocabulary, {100 * (drawn > 0.99).mean():.0f} %")
row(f"more than 0.99, but one gives it only {drawn.min():.2f}")
row(f"half of the tokens give it less than {left[len(left) // 2]:.3f}")
row(f"a few give it up to {left[-1]:.3f}")
row(f"The mean of {left.mean():.3f} describes neither")
own = max(heads, key=lambda h: at(bare, h, 0).mean())
row(name(own).capitalize() + " does this best")
for kind, maps in (("with", turned), ("without", bare)):
    row("| " + kind + " | {:.4f} | {:.4f} | {:.4f} |".format(*maps[0][own][5, [2, 5, 8]]))
row(f"a word gives itself {same(turned, True):.4f} and each repetition {same(turned, False):.4f}")
small = {}
for words, layer, head, *numbers in csv.reader(open(TRAINED / "attention.csv")):
    small.setdefault((int(layer), int(head)), []).append(np.array(numbers, float).reshape(2 * [len(words.split())]))
places = {h: [at([{h: m} for m in maps], h, k).mean() for k in range(-4, 5)] for h, maps in small.items()}
for h in (top := sorted(places, key=lambda h: -max(places[h]))[:3]):
    before, before4 = (places[h][i] for i in (5, 8))
    first, last = (np.concatenate([m[:, i] for m in small[h]]).mean() for i in (0, -1))
    row(f"{name(h)} {first:.3f} {last:.3f} {before:.3f} {before4:.3f}", "trained")
sizes = np.array([len(m) for m in small[top[0]]])
row(f"{places[top[0]][5]:.3f} for the word before (Δ = 1), {places[top[0]][8]:.3f} for the fourth before", "trained")
row(f"from everywhere, with {np.concatenate([m[:, 0] for m in small[top[0]]]).mean():.3f} of its weight", "trained")
row(f"six definitions of {sizes.min()} to {sizes.max()} words", "count")
for far, phrase in ((1, "Of the {} words that have"), (4, "of the {} with a fourth")):
    row(phrase.format((sizes - far).sum()), "count")
    row(f"6/{(sizes - far).sum()} = {6 / (sizes - far).sum():.3f}")
row("*a* stands at 0 and at 8", "count")
data = {tuple(line[:4]): np.array(line[4:], float) for line in csv.reader(open(TRAINED / "decoder.csv"))}
mean, rest = ({(int(k[1]), int(k[2])): v for k, v in data.items() if k[0] == kind and k[3] == "mean"}
              for kind in ("rotary", "none"))
order = sorted(mean, key=lambda h: -mean[h][1])
near = {h: mean[h][:4].sum() for h in order}
ends = {h: [data["rotary", *map(str, h), share][1] for share in ("10 %", "90 %")] for h in order}
for h in order[:4]:
    row(f"layer {h[0]}, head {h[1]} {mean[h][1]:.3f} {ends[h][0]:.3f} {ends[h][1]:.3f} {near[h]:.3f}", "trained")
second = [h for h in order if h[0] == 2]
assert second == order[:4]
row(f"{100 * min(near[h] for h in second):.0f} to {100 * max(near[h] for h in second):.0f} % of their weight", "trained")
row(f"from {min(rest[h][1] for h in second):.3f} to {max(rest[h][1] for h in second):.3f}; equal weights would give "
    f"{np.mean(1 / np.arange(33, 65)):.3f}", "trained")
row(f"the character before {mean[order[0]][1]:.3f} on average, but for one character in ten less than "
    f"{ends[order[0]][0]:.3f}, and for one in ten more than {ends[order[0]][1]:.3f}", "trained")
row("and 108,481 parameters", "trained")
row("the 64 weights have at most 9 different values", "count")
