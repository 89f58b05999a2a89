"""Prints rows of the files of expected values."""
import re

NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")


def row(line, source="numpy"):
    """Prints a line of a program or a phrase of a chapter: with {} for its numbers, the numbers, and their source."""
    line = " ".join(line.split())
    print(NUMBER.sub("{}", line), " ".join(NUMBER.findall(line)), source, sep=" | ")
