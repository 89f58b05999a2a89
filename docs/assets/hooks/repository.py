"""Makes pages of files that are not Markdown in docs, so that the site and GitHub show the same files.

* Markdown elsewhere in the repository, such as CONTRIBUTING.md, is a page of the same path.
* A notebook is the page that nbconvert makes of it.
* A CSV file is a table.
* ``<!-- include README.md#add-it-to-a-project -->`` is that section of another file.

Links stay as GitHub needs them, relative to the file: here, a link to a file that is a page leads to the page, and a link to
another file of the repository to the repository. MkDocs reports the others.
"""

import csv
import html
import posixpath
import re
from pathlib import Path

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File
from nbconvert import MarkdownExporter
from pymdownx.slugs import slugify

ROOT = Path(__file__).parents[3]
OTHERS = [
    "*.md",
    "benchmarks/*.md",
    "peers/*.md",
    "examples/*.md",
    "examples/*/*.md",
    "examples/notebooks/*.ipynb",
    "examples/book/src/main/resources/*.csv",
]
# of notebooks
TEMPLATE = ROOT / "examples/notebooks/page.md.j2"
# how to run a notebook
READMES = {"docs/book": "examples/book/README.md", "examples/notebooks": "examples/notebooks/README.md"}
# pictures of a notebook and their captions
FIGURES = re.compile(r"(?:^!\[\]\(.*\s+)+(?:^\*[^*\n].*\*$\s*)+", re.MULTILINE)
# of pages in results of a search; others have 1, and pages of another folder than docs and examples 0.2
BOOSTS = {"book/OrderLost.md": 4, "rotary.md": 2, "encodings.md": 2, "decoding.md": 2, "book/": 2}
# the start page includes its sections
START = {"README.md": "index.md"}
LINK = re.compile(r'(\]\(|\b(?:href|src)=")([^)\s":#?]+)(#[^)\s"]*)?(?=[)"])')
SECTION = re.compile(r"<!-- include (\S+)#(\S+) -->")

pages = {}  # path in the repository: path in the site
sources = {}  # path in the site: path in the repository


@event_priority(100)
def on_files(files, config):
    pages.clear()
    sources.clear()
    for file in list(files):
        path = f"docs/{file.src_uri}"
        if file.src_uri.endswith((".csv", ".ipynb")):
            add(path, file.src_uri, files, config)
        elif file.is_documentation_page():
            pages[path] = file.src_uri
            sources[file.src_uri] = path
    for pattern in OTHERS:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if name not in START:
                add(name, name.replace("examples/book/src/main/resources", "examples/book"), files, config)
    pages.update(START)
    return files


def add(path, uri, files, config):
    """Adds the page of a file, and the file itself for downloading unless it is Markdown."""
    source = ROOT / path
    page = posixpath.splitext(uri)[0] + ".md"
    if source.suffix == ".md":
        text = source.read_text("utf-8")
    else:
        if not files.get_file_from_path(uri):
            files.append(File.generated(config, uri, abs_src_path=str(source)))
        if source.suffix == ".csv":
            page = uri.replace(".csv", "-csv.md")
            text = table(source)
        else:
            text, pictures = MarkdownExporter(template_file=str(TEMPLATE)).from_filename(str(source))
            name = source.stem
            readme = posixpath.relpath(READMES[posixpath.dirname(path)], posixpath.dirname(path))
            link = f'Open as a notebook: <a download href="{source.name}">{source.name}</a> ([how to run it]({readme}))'
            text = FIGURES.sub(described, text.lstrip()).replace("\n", f"\n\n{link}\n{{ .notebook }}\n", 1)
            for picture, content in pictures["outputs"].items():
                text = text.replace(picture, f"{name}-{picture}")
                files.append(File.generated(config, posixpath.join(posixpath.dirname(uri), f"{name}-{picture}"), content=content))
    files.append(File.generated(config, page, content=text))
    pages[path] = page
    sources[page] = path


def described(figures):
    """Makes captions the alternative texts of pictures, and the last caption that of all that remain."""
    captions = re.findall(r"^\*([^*\n].*)\*$", figures[0], re.MULTILINE)
    parts = figures[0].split("![](")
    texts = [captions[min(i, len(captions) - 1)].replace("]", "") for i in range(len(parts) - 1)]
    return parts[0] + "".join(f"![{text}]({part}" for text, part in zip(texts, parts[1:]))


def table(source):
    header, *rows = csv.reader(source.open(encoding="utf-8", newline=""))

    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return (
        f"---\nhide: [toc]\nsearch: {{exclude: true}}\n---\n\n# {source.name}\n\n{len(rows)} rows: <a download href=\"{source.name}\">{source.name}</a>\n\n"
        f'<div class="csv" markdown="0">\n<table>\n<thead>\n{line(header, "th")}\n</thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>\n'
    )


@event_priority(100)
def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri not in sources:
        return markdown
    boosts = [boost for prefix, boost in BOOSTS.items() if uri.startswith(prefix)]
    if not sources[uri].startswith(("docs/", "examples/")):
        boosts = [0.2]
    if boosts:
        page.meta.setdefault("search", {"boost": boosts[0]})
    markdown = linked(markdown, sources[uri], uri, config)
    return SECTION.sub(lambda match: linked(section(*match.groups()), match[1], uri, config), markdown)


def linked(markdown, source, uri, config):
    """Returns text of a file in the repository with links that lead from a page of the site."""

    def link(match):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
        anchor = match[3] or ""
        if path == source and not source.endswith(".md"):
            return match[0]
        if path in pages:
            return match[1] + posixpath.relpath(pages[path], posixpath.dirname(uri)) + anchor
        if not (ROOT / path).exists() or path.startswith("../"):
            return match[0]
        if path.startswith("docs/"):
            return match[1] + posixpath.relpath(path.removeprefix("docs/"), posixpath.dirname(uri)) + anchor
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{match[1]}{config.repo_url}/{kind}/main/{path}{anchor}"

    return LINK.sub(link, markdown)


def section(path, anchor):
    """Returns the heading with an anchor and what follows up to the next one of its level."""
    text = (ROOT / path).read_text("utf-8")
    for heading in re.finditer(r"^(#+) (.*)\n", text, re.MULTILINE):
        if slugify(case="lower")(heading[2], "-") == anchor:
            end = re.compile(f"^#{{1,{len(heading[1])}}} ", re.MULTILINE).search(text, heading.end())
            return text[heading.start() : end.start() if end else None]
    raise ValueError(f"{path} has no section {anchor}")
