"""Makes Jupyter notebooks of Java programs, for the kernel JJava, and runs them.

    python notebook.py Program.java …          writes Program.ipynb, with its outputs, beside this script
    python notebook.py --check Program.java …  runs it, and fails if a section marked [check] prints something else

A program is a class with a main method. In it,

    // %maven group:artifact[:jar:classifier]:version  is a Maven artifact that the notebook needs
    // %% Title                                        begins a section, in main or between the members of the class
    // %% [check] Title                                begins a section whose output is the same in each run
    // > code                                          is a line of the notebook only
"""

import argparse
import pathlib
import re
import sys
import tempfile
import textwrap

import nbclient
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

CHECKED = "same-output-each-time"


def sections(lines):
    """Yields the title (None before the first mark), whether its output is checked, and the code of each section."""
    title, is_checked, code = None, False, []
    for line in lines + ["// %% end"]:
        mark = re.match(r" *// %% (\[check\] )?(.*)", line)
        if mark:
            text = textwrap.dedent("\n".join(code)).strip()
            if text:
                yield title, is_checked, text
            is_checked, title, code = bool(mark[1]), mark[2], []
        else:
            code.append(re.sub(r"// > ", "", line))


def convert(program):
    text = program.read_text(encoding="utf-8")
    name = program.stem
    dependencies = re.findall(r"^// (%maven .*)$", text, re.M)
    imports = re.findall(r"^import .*;$", text, re.M)
    javadoc, body = re.search(rf"/\*\*(.*?)\*/\s*public final class {name} {{\n(.*)}}\s*$", text, re.S).groups()
    body = re.sub(rf"^    private {name}\(\) {{}}\n", "", body, flags=re.M)
    members, main, rest = re.search(
        r"(.*)^    public static void main\([^\n]*{\n(.*?)^    }\n(.*)", body, re.M | re.S
    ).groups()
    introduction = re.sub(r"{@code ([^}]*)}", r"`\1`", re.sub(r"\s*\n \* ?", " ", javadoc)).strip()
    cells = [
        new_markdown_cell(f"# {name}\n\n{introduction}"),
        new_code_cell("\n".join(dependencies)),
        new_code_cell("\n".join(imports)),
    ]
    for title, is_checked, code in [*sections((members + rest).split("\n")), *sections(main.split("\n"))]:
        if title:
            cells.append(new_markdown_cell(f"## {title}"))
        cells.append(new_code_cell(code, metadata={"tags": [CHECKED]} if is_checked else {}))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # the same each time
    kernel = {"display_name": "Java", "language": "java", "name": "java"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def without_progress(outputs):
    """Joins the pieces of a stream, and leaves out what a terminal overwrites."""
    joined = []
    for output in outputs:
        if output.output_type == "stream" and joined and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    for output in joined:
        if output.output_type == "stream":
            output.text = re.sub(r"[^\n]*\r(?=[^\n])", "", output.text)
    return joined


def run(notebook):
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":
            cell.outputs = without_progress(cell.outputs)


def compare(notebook, file):
    for ran, stored in zip(notebook.cells, nbformat.read(file, as_version=4).cells, strict=True):
        if CHECKED in ran.metadata.get("tags", []) and ran.outputs != stored.outputs:
            sys.exit(f"{file}: {ran.source}\nprinted {ran.outputs}\nexpected {stored.outputs}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("program", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    for program in arguments.program:
        file = pathlib.Path(__file__).with_name(f"{program.stem}.ipynb")
        notebook = convert(program)
        run(notebook)
        if arguments.check:
            compare(notebook, file)
        else:
            nbformat.write(notebook, file)


if __name__ == "__main__":
    main()
