#!/usr/bin/env python3
"""Writes small random models and encodings of today's Python packages, with their inputs and outputs, for the Java tests.

    dump.py FOLDER [--seed N] [--kind PATTERN] [PART ...]

The packages are those of requirements.txt; another version is an error. A kind that fails is printed, and the others are
written all the same; the status is then 1.
"""

import argparse
import functools
import importlib
import importlib.metadata
import multiprocessing
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ["configurations", "models", "sinusoids", "learned", "grids", "coordinates", "rotary", "axes", "attention", "biases", "terms",
         "windows"]


def wrong_versions():
    """The lines of requirements.txt that are not installed as they say."""
    for line in (HERE / "requirements.txt").read_text().split():
        package, version = line.split("==")
        try:
            installed = importlib.metadata.version(package).split("+")[0]
        except importlib.metadata.PackageNotFoundError:
            installed = "nothing"
        if installed != version:
            yield f"{line}: {installed} is installed"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", type=re.compile, default=re.compile(""))
    parser.add_argument("parts", nargs="*", metavar="PART", help=" ".join(PARTS))
    arguments = parser.parse_intermixed_args()
    if wrong := list(wrong_versions()):
        sys.exit("\n".join(wrong) + f"\nexpected the versions of {HERE}/requirements.txt: pip install -r requirements.txt")
    # random models need no network
    os.environ |= {"HF_HUB_OFFLINE": "1", "KERAS_BACKEND": "torch", "TORCHDYNAMO_DISABLE": "1"}
    arguments.folder.mkdir(parents=True, exist_ok=True)
    # a process for each: packages replace models of others, and parts functions of packages
    with multiprocessing.get_context("spawn").Pool(maxtasksperchild=1) as pool:
        failed = pool.map(functools.partial(dump, arguments), arguments.parts or PARTS, chunksize=1)
    sys.exit(f"failed: {', '.join(sum(failed, []))}" if any(failed) else 0)


def dump(arguments, name):
    """Writes a part, and returns the names of what failed."""
    import peer

    peer.SEED = arguments.seed
    return importlib.import_module(name).part.dump(arguments.folder, arguments.kind)


if __name__ == "__main__":
    main()
