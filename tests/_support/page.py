"""Read a report page without a browser."""

import json
from html.parser import HTMLParser


class Page(HTMLParser):
    """A page's elements with their attributes, its text outside scripts, and its charts' data."""

    def __init__(self, path):
        super().__init__()
        self.elements, self.words, self.scripts, self.open = [], [], [], []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.text = " ".join("".join(self.words).split())
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        if tag in ("td", "th", "dt", "dd", "button"):
            self.words.append(" ")
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.words.append(data)

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    def sections(self):
        return [attributes["id"] for tag, attributes in self.elements if tag == "section"]
