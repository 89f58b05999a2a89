"""What the parts share: a kind of comparison, numbers to compare with, and the file that the Java tests read."""

import dataclasses
import json
import traceback
import zlib

import numpy as np
import torch
from safetensors.numpy import save_file

SEED = 0
torch.set_grad_enabled(False)


@dataclasses.dataclass
class Kind:
    """A kind of comparison: its name, which Java's side has too, the block it is about, the package, and its cases.

    Kinds of several packages have the same name if the library's side is the same.
    """

    name: str
    block: str
    package: str
    cases: callable

    def __str__(self):
        return f"{self.package} {self.name}"


class Part:
    """The kinds of comparison of one Java test."""

    def __init__(self, name):
        self.name, self.kinds = name, []

    def kind(self, name, block, package):
        """Registers a function that yields cases: arguments, arrays, and y, the package's result.

        NaN in y stands for any number. Arrays named p.NAME are parameters of the library's block. The argument limit
        replaces the limit of the error; a comment or angles_up_to derives it.
        """

        def register(cases):
            kind = Kind(name, block, package, cases)
            assert all(str(each) != str(kind) for each in self.kinds), kind
            self.kinds.append(kind)
            return cases

        return register

    def dump(self, folder, pattern):
        """Writes the cases of the kinds whose names match; returns the names of those that failed."""
        arrays, entries, failed = {}, [], []
        for kind in self.kinds:
            if not pattern.search(str(kind)):
                continue
            torch.manual_seed(SEED + zlib.crc32(str(kind).encode()))
            try:
                cases = [case(*each) for each in kind.cases()]
                if not cases:
                    raise ValueError("it yields no case")
            except Exception:  # the others are compared all the same, and the run fails
                print(f"{self.name}: {kind}:\n{traceback.format_exc(limit=-3)}", flush=True)
                failed.append(str(kind))
                continue
            for arguments, values in cases:
                arrays |= {f"{len(entries)}/{name}": value for name, value in values.items()}
                entries.append({"kind": kind.name, "block": kind.block, "package": kind.package, "arguments": arguments})
        save_file(arrays, folder / f"{self.name}.safetensors")
        (folder / f"{self.name}.json").write_text(json.dumps(entries))
        print(f"{self.name}: {len(entries)} cases of {len(self.kinds)} kinds, {len(failed)} failed", flush=True)
        return failed


def case(arguments, arrays, y):
    return arguments, {name: array(value) for name, value in {**arrays, "y": y}.items()}


def array(value):
    """FLOAT16 and BFLOAT16 as FLOAT32, integers as INT64."""
    value = value.detach() if isinstance(value, torch.Tensor) else torch.as_tensor(np.asarray(value))
    if value.dtype in (torch.float16, torch.bfloat16):
        value = value.float()
    elif not value.is_floating_point():
        value = value.long()
    # the file stores rows as they lie in memory
    return np.ascontiguousarray(value.numpy()).copy()


def normal(*shape, scale=1.0):
    """Random numbers, N(0, scale²); they depend on the seed of the run and on the kind."""
    return torch.randn(shape) * scale


def angles_up_to(largest):
    """The limit of the error where a package computes angles in FLOAT32.

    The frequency exp(-e) is off by up to three roundings of e and one of its own, the angle by one more: in units of 2^-24
    by exp(-e) · (3e + 2) < 2.2, times the position. 4 is enough where the base or the power has one rounding more.
    """
    return max(2e-5, 4 * 2**-24 * float(largest))
