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
    """A kind of comparison: its name, which Java's side has too, the block it is about, the package, and its cases."""

    name: str
    block: str
    package: str
    cases: callable


class Part:
    """The kinds of comparison of one Java test."""

    def __init__(self, name):
        self.name, self.kinds = name, []

    def kind(self, name, block, package):
        """Registers a function that yields cases: arguments, arrays, and y, the package's result.

        NaN in y stands for any number. Arrays named p.NAME are parameters of the library's block.
        """

        def register(cases):
            assert all(each.name != name for each in self.kinds), name
            self.kinds.append(Kind(name, block, package, cases))
            return cases

        return register

    def dump(self, folder, pattern):
        """Writes the cases of the kinds whose names match; returns the names of those that failed."""
        arrays, entries, failed = {}, [], []
        for kind in self.kinds:
            if not pattern.search(kind.name):
                continue
            torch.manual_seed(SEED + zlib.crc32(kind.name.encode()))
            try:
                cases = [case(*each) for each in kind.cases()]
                if not cases:
                    raise ValueError("it yields no case")
            except Exception:  # the others are compared all the same, and the run fails
                print(f"{self.name}: {kind.name} of {kind.package}:\n{traceback.format_exc(limit=-3)}", flush=True)
                failed.append(kind.name)
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
