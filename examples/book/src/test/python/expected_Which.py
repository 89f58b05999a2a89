"""Prints the lines of expected/Which.txt from the measured tables."""
import csv
import os

TITLES = dict(zip("gaussian transformer_xl distance_network sandwich kerple shaw alibi fire t5 disentangled rotary_ntk rotary_yarn".split(), (
    "Gaussian;Transformer-XL;distance network;Sandwich;KERPLE;Shaw;ALiBi;FIRE;T5;DeBERTa;rotary, NTK-aware;rotary, YaRN").split(";")))

def mean(file, columns):
    folder = os.path.dirname(os.path.abspath(__file__)) + "/../../main/resources/"
    rows = csv.DictReader(open(folder + file))
    return {r["positions"]: ["%.2f" % (float(r["mean " + column]) + 1e-9) for column in columns] for r in rows}

words, text = mean("comparison.csv", ["5-16", "25-40"]), mean("comparison-text.csv", ["33-64", "225-256"])
for kind, losses in text.items():
    if not kind.startswith(("rotary_linear", "kerple_")):
        numbers = words.get(kind, ["–", "–"])
        fields = [number if number == "–" else "{}" for number in numbers] + ["{}", "{}"]
        print(TITLES.get(kind, kind), *fields, "|", *[n for n in numbers if n != "–"], *losses, "|", "trained")
