"""Prints rows of the files of expected values, and the numbers in the text of a chapter in the same form."""
import re

NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")


def row(line, source="numpy"):
    """Prints a line of a program or a phrase of a chapter: with {} for its numbers, the numbers, and their source."""
    line = " ".join(line.split())
    print(NUMBER.sub("{}", line), " ".join(NUMBER.findall(line)), source, sep=" | ")
