"""Puts the Javadoc into the site under api, with a page of all classes for the search, and links the names of classes and
their members in code to it."""

import json
import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url

ROOT = Path(__file__).parents[3]
JAVADOC = ROOT / "target/reports/apidocs"
# the code of the guide
SAMPLES = ROOT / "src/test/java/io/github/djlpositional/guide"
# what stays as it is, code in a line, and a name in highlighted Java
CODE = re.compile(r"<(a|h[1-6])\b.*?</\1>|<code>([A-Z]\w+)((?:[.#]\w+)*)([^<]*)</code>|<span class=\"n\">([A-Z]\w+)</span>", re.DOTALL)
# a class and its first sentence in the list of all classes; tags and names of packages in the latter
CLASS = re.compile(
    r'<a href="([^"]+)" title="[^"]*">([\w.]+)</a></div>\s*<div class="col-last[^>]*>\s*<div class="block">(.*?)</div>', re.DOTALL
)
MARKUP = r"<[^>]*>|\b([a-z]\w*\.)+(?=[A-Z])"

urls = {}  # "RotaryEmbeddingBlock", "NormPlacement.AFTER_SUM": where its Javadoc is


@event_priority(100)
def on_files(files, config):
    if not (JAVADOC / "index.html").exists():
        raise PluginError(f"there is no Javadoc in {JAVADOC}: run .ci/site, which writes it")
    for path in sorted(JAVADOC.rglob("*")):
        if path.is_file() and path.suffix != ".md":
            uri = f"api/{path.relative_to(JAVADOC).as_posix()}"
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    urls.clear()
    modules = {entry["l"]: entry["m"] + "/" if "m" in entry else "" for entry in index("package")}

    def page(entry, name):
        url = f"api/{modules[entry['p']]}{entry['p'].replace('.', '/')}/{name}.html"
        if not files.get_file_from_path(url):
            raise PluginError(f"the Javadoc has no {url}")
        return url

    for entry in index("type"):
        if "p" in entry:
            add(entry["l"], page(entry, entry["l"]))
    for entry in index("member"):
        member = re.match(r"\w+", entry["l"])[0]
        add(f"{entry['c']}.{member}", f"{page(entry, entry['c'])}#{entry.get('u', entry['l'])}")
    files.append(File.generated(config, "classes.md", content=classes()))
    return files


def classes():
    """Returns a page with the package and the first sentence of each class."""
    text = (JAVADOC / "allclasses-index.html").read_text("utf-8")
    rows = [
        f'<tr><td><a href="api/{url}"><code>{name}</code></a></td><td><code>{package(url)}</code></td>'
        f'<td>{re.sub(MARKUP, "", summary).strip()}</td></tr>'
        for url, name, summary in CLASS.findall(text)
        if not name.endswith(".Builder")
    ]
    return (
        "---\nhide: [toc]\nsearch: {boost: 0.5}\n---\n\n# Classes\n\n"
        f"<details markdown>\n<summary>All imports of this library, and those of DJL in the guide</summary>\n\n```java\n{imports()}\n```\n\n</details>\n\n"
        "<table>\n<tr><th>class</th><th>package</th><th>what it is</th></tr>\n" + "\n".join(rows) + "\n</table>\n"
    )


def imports():
    """Returns the imports for all code of the guide: of this library every package, of DJL those that the code needs."""
    packages = {entry["l"] for entry in index("package") if "l" in entry and entry["l"].startswith("io.")}
    found = {name for path in SAMPLES.glob("*.java") for name in re.findall(r"^import ([\w.]+);", path.read_text("utf-8"), re.MULTILINE)}
    nested = set()
    for name in found:
        outer, _, _ = name.rpartition(".")
        is_nested = outer.rpartition(".")[2][0].isupper()
        if name.startswith("ai.djl."):
            (nested if is_nested else packages).add(name if is_nested else outer)
        elif is_nested and outer.rpartition(".")[2] in urls:
            nested.add(name)
    lines = [f"import {name}.*;" for name in sorted(packages)] + [f"import {name};" for name in sorted(nested)]
    return "\n".join(lines)


def package(url):
    """Returns the package of a class by the place of its Javadoc, which begins with the folder of the module."""
    folder = url.removeprefix("api/").rpartition("/")[0]
    return (folder.partition("/")[2] if "." in folder.partition("/")[0] else folder).replace("/", ".")


def index(kind):
    text = (JAVADOC / f"{kind}-search-index.js").read_text("utf-8")
    return json.loads(text[text.index("[") : text.rindex("]") + 1])


def add(name, url):
    """Adds a name; of overloads, the first. Adds NormPlacement for TransformerLayerBlock.NormPlacement, but not a single
    word, such as Linear, which another library may also have."""
    urls.setdefault(name, url)
    inner = name.partition(".")[2]
    if re.match(r"([A-Z][a-z]+){2}", inner):
        if urls.setdefault(inner, url).split("#")[0] != url.split("#")[0]:
            urls[inner] = ""


def on_page_content(content, page, config, files):
    def link(match):
        name = match[2] or match[5]
        if not name:
            return match[0]
        members = (match[3] or "").replace("#", ".")
        url = urls.get(name + members) or urls.get(name)
        if not url:
            return match[0]
        # a chain of calls may break before each
        text = re.sub(r"\.(?=\w+\()", "<wbr>.", match[0]) if match[2] else match[0]
        return f'<a class="api" href="{get_relative_url(url, page.url)}" title="{package(url)}">{text}</a>'

    return CODE.sub(link, content)
