"""What a browser would do with two pages: reads lines of JSON, [KIND, PLAIN, OTHER], KIND markdown or html, until its input ends.

A page may be a folder of web export's. Answers each with a line, the text in JSON of how OTHER differs from PLAIN in elements and in attributes that load, lead or run
something. Markdown is rendered by markdown-it-py, as CommonMark with tables, with HTML passed through as GitHub does before it cleans.
"""
import difflib
import html.parser
import json
import os
import re
import sys

import markdown_it

ACTIVE = ("href", "src", "srcset", "style", "action", "formaction", "data", "xlink:href", "poster", "http-equiv", "background")


class Elements(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        active = [f"{name}={value}" for name, value in attrs if name in ACTIVE or name.startswith("on")]
        self.seen.append(f"<{tag}> {' '.join(sorted(name for name, _ in attrs))} {' '.join(active)}")

    def handle_endtag(self, tag):
        self.seen.append(f"</{tag}>")

    def handle_comment(self, data):
        self.seen.append("a comment")

    def handle_decl(self, decl):
        self.seen.append(f"<!{decl}>")

    def unknown_decl(self, data):
        self.seen.append("a declaration")

    def handle_pi(self, data):
        self.seen.append("an instruction")


def elements(kind, path):
    with open(path, encoding="utf-8", newline="") as f:
        text = f.read()
    if kind == "markdown":
        text = markdown_it.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    found = Elements()
    found.feed(text)
    found.close()
    return found.seen


def pages(path):
    """A page, or all pages of web export below a folder by their names there. Names of results are taken out."""
    if not os.path.isdir(path):
        return {"": path}
    found = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names if name.endswith(".html")]
    return {re.sub(r"\br/[^/]*/", "r/ID/", os.path.relpath(page, path)): page for page in found}


def differences(kind, plain, other):
    ours, theirs = pages(plain), pages(other)
    if ours.keys() != theirs.keys():
        yield f"pages: {sorted(ours)} {sorted(theirs)}\n"
    for name, page in theirs.items():
        both = [[re.sub(r"\br/[^/]*/", "r/ID/", e) for e in elements(kind, p)] for p in (ours.get(name, page), page)]
        for line in difflib.unified_diff(*both, lineterm="", n=1):
            yield f"{name} {line}\n"


for line in sys.stdin:
    print(json.dumps("".join(differences(*json.loads(line)))), flush=True)
