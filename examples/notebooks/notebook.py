"""Makes Jupyter notebooks of Java programs, for the kernel JJava, and runs them.

    python notebook.py Program.java …          writes the notebooks, with their outputs
    python notebook.py --check Program.java …  runs them, and fails if one prints something else than the stored one
    python notebook.py --text Program.java …   writes them with another text and the stored outputs

A program is a class with a main method. In it,

    // %maven group:artifact[:jar:classifier]:version  is a Maven artifact that the notebook needs
    // %% Title                                        begins a section, in main or between the members of the class
    // %% [check] Title                                begins a section whose output is the same in each run
    // > code                                          is a line of the notebook only

and its notebook is beside this script. A program of the book has a text, chapters/Program.md, in which

    <!-- code: name -->                                stands for the section "// %% name" of main
    // ...                                             in a section begins what is folded

and its notebook, of which every output is the same in each run, is in docs/book.
"""

import argparse
import base64
import io
import pathlib
import re
import sys
import tempfile
import textwrap

import nbclient
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image

EXAMPLES = pathlib.Path(__file__).resolve().parents[1]
TEXTS = EXAMPLES / "book/src/main/resources/chapters"
CHECKED = "same-output-each-time"
FOLDED = {"jupyter": {"source_hidden": True}}


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


def parse(program):
    """Returns the artifacts, the imports, the introduction, the members and the lines of main."""
    text = program.read_text(encoding="utf-8")
    artifacts = re.findall(r"^// (%maven .*)$", text, re.M)
    # the kernel has a function of this name
    imports = re.findall(r"^import (?!static .*\.display;).*;$", text, re.M)
    javadoc, body = re.search(
        rf"/\*\*(.*?)\*/\s*public final class {program.stem} {{\n(.*)}}\s*$", text, re.S
    ).groups()
    body = re.sub(rf"^    private {program.stem}\(\) {{}}\n|^    @SuppressWarnings.*\n", "", body, flags=re.M)
    members, main, rest = re.search(
        r"(.*)^    public static void main\([^\n]*{\n(.*?)^    }\n(.*)", body, re.M | re.S
    ).groups()
    introduction = re.sub(r"{@code ([^}]*)}", r"`\1`", re.sub(r"\s*\n \* ?", " ", javadoc)).strip()
    return "\n".join(artifacts), "\n".join(imports), introduction, (members + rest).split("\n"), main.split("\n")


def convert(program):
    artifacts, imports, introduction, members, main = parse(program)
    text = TEXTS / f"{program.stem}.md"
    if text.exists():
        imports = f"import io.github.djlpositional.examples.book.*;\n{imports}"
        setup = "\n\n".join([artifacts, imports, *(code for _, _, code in sections(members))])
        cells = chapter(text.read_text(encoding="utf-8"), setup, {title: code for title, _, code in sections(main)})
    else:
        cells = [
            new_markdown_cell(f"# {program.stem}\n\n{introduction}"),
            new_code_cell(artifacts),
            new_code_cell(imports),
        ]
        for title, is_checked, code in [*sections(members), *sections(main)]:
            if title:
                cells.append(new_markdown_cell(f"## {title}"))
            cells.append(new_code_cell(code, metadata={"tags": [CHECKED]} if is_checked else {}))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # the same each time
    kernel = {"display_name": "Java", "language": "java", "name": "java"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def chapter(text, setup, pieces):
    """Returns the cells of a text, each of whose comments is replaced by a piece of code; setup is the first code."""
    introduction, *parts = re.split(r"^<!-- code: ([\w-]+) -->$", text, flags=re.M)
    if parts[::2] != list(pieces):
        sys.exit(f"the text has the code {parts[::2]}: expected {list(pieces)}, the sections of the program")
    cells = [new_markdown_cell(introduction.strip()), new_code_cell(setup, metadata=FOLDED)]
    for name, markdown in zip(parts[::2], parts[1::2]):
        shown, *folded = re.split(r"^// \.\.\.$", pieces[name], flags=re.M)
        cells += [new_code_cell(shown.strip())] if shown.strip() else []
        cells += [new_code_cell(code.strip(), metadata=FOLDED) for code in folded]
        cells += [new_markdown_cell(markdown.strip())] if markdown.strip() else []
    for cell in cells:
        if cell.cell_type == "code":
            cell.metadata = {**cell.metadata, "tags": [CHECKED]}
    return cells


def small(png):
    """Returns a picture with few colors, which takes a quarter of the space, and its width."""
    picture = Image.open(io.BytesIO(base64.b64decode(png)))
    file = io.BytesIO()
    picture.convert("RGB").quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode(), picture.width


def cleaned(outputs, scale):
    """Joins the pieces of a stream, leaves out what a terminal overwrites, and makes pictures small."""
    joined = []
    for output in outputs:
        if output.output_type == "stream" and joined and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    # the function display also returns a number
    joined = [output for output in joined if output.output_type != "execute_result" or "image/png" in output.data]
    for output in joined:
        if output.output_type == "stream":
            output.text = re.sub(r"[^\n]*\r(?=[^\n])", "", output.text)
        elif "image/png" in output.data:
            png, width = small(output.data["image/png"])
            output.data = {"image/png": png}
            output.metadata = {"image/png": {"width": width // scale}}
    return joined


def run(notebook, scale):
    with tempfile.TemporaryDirectory() as folder:
        nbclient.NotebookClient(notebook, timeout=1800, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":
            cell.outputs = cleaned(cell.outputs, scale)


def keep(notebook, file):
    """Takes the outputs of the same code from the stored notebook."""
    stored = nbformat.read(file, as_version=4)
    notebook.metadata = stored.metadata
    code = [[cell for cell in cells if cell.cell_type == "code"] for cells in (notebook.cells, stored.cells)]
    for cell, before in zip(*code, strict=True):
        if cell.source != before.source:
            sys.exit(f"{file}: {before.source}\nexpected {cell.source}: run it, without --text")
        cell.outputs, cell.execution_count = before.outputs, before.execution_count


def texts(cell):
    """What a cell printed; of pictures, only that they are there: fonts differ."""
    return [output.get("text", output.get("metadata")) for output in cell.outputs]


def compare(notebook, file):
    for ran, stored in zip(notebook.cells, nbformat.read(file, as_version=4).cells, strict=True):
        if ran.source != stored.source:
            sys.exit(f"{file}: {stored.source}\nexpected {ran.source}")
        if CHECKED in ran.metadata.get("tags", []) and texts(ran) != texts(stored):
            sys.exit(f"{file}: {ran.source}\nprinted {texts(ran)}\nexpected {texts(stored)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("program", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    for program in arguments.program:
        is_chapter = (TEXTS / f"{program.stem}.md").exists()
        folder = EXAMPLES.parent / "docs/book" if is_chapter else EXAMPLES / "notebooks"
        file = folder / f"{program.stem}.ipynb"
        notebook = convert(program)
        if arguments.text:
            keep(notebook, file)
        else:
            run(notebook, scale=2 if is_chapter else 1)  # as in Plots
        if arguments.check:
            compare(notebook, file)
        else:
            nbformat.write(notebook, file)


if __name__ == "__main__":
    main()
