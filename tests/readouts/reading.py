"""A reader of printed rules that knows nothing of the code that printed them.

It takes the text apart by the grammar a person would see, and decides rows with nothing but ``float`` and comparisons::

    rule       condition "and" condition ..., or "any row"
    condition  NUMBER "<" NAME "<=" NUMBER, or NAME "<=", ">", "=" or "!=" NUMBER,
               or "(" NAME "<=" NUMBER "or" NAME ">" NUMBER ")"
    NAME       letters, digits, underscores and inner dots; or anything between backticks, where two backticks are one
               and a backslash starts an escape
"""

import codecs
import re

TOKEN = re.compile(
    r"""\s*(?:
        (?P<quoted>`(?:[^`]|``)*`(?!`))
      | (?P<number>-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]))
      | (?P<operator><=|!=|<|>|=|\(|\))
      | (?P<word>[^\W\d][\w]*(?:\.\w+)*)
    )""",
    re.VERBOSE,
)
ESCAPE = re.compile(r"\\(?:\\|n|r|t|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


def unquote(token):
    body = token[1:-1].replace("``", "`")
    return ESCAPE.sub(lambda match: codecs.decode(match.group().encode("ascii"), "unicode_escape"), body)


def tokens(text):
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, f"cannot read {text[at:]!r} in {text!r}"
        at = match.end()
        if match["quoted"] is not None:
            found.append(("name", unquote(match["quoted"])))
        elif match["number"] is not None:
            found.append(("number", float(match["number"])))
        elif match["operator"] is not None:
            found.append(("operator", match["operator"]))
        else:
            found.append(("word" if match["word"] in ("and", "or", "any") else "name", match["word"]))
    return found


class Reader:
    def __init__(self, text):
        self.tokens = tokens(text)
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else (None, None)

    def take(self, kind, value=None):
        token = self.peek()
        assert token[0] == kind, f"{token} where {kind} is due"
        assert value in (None, token[1]), f"{token} where {value} is due"
        self.at += 1
        return token[1]

    def condition(self):
        kind, value = self.peek()
        if (kind, value) == ("operator", "("):
            self.take("operator", "(")
            first = self.comparison()
            self.take("word", "or")
            second = self.comparison()
            self.take("operator", ")")
            return lambda row: first(row) or second(row)
        if kind == "number":
            low = self.take("number")
            self.take("operator", "<")
            upper = self.comparison(("<=",))
            name = self.tokens[self.at - 3][1]
            return lambda row: low < row[name] and upper(row)
        return self.comparison()

    def comparison(self, operators=("<=", ">", "=", "!=")):
        name = self.take("name")
        operator = self.take("operator")
        assert operator in operators
        bound = self.take("number")
        compare = {"<=": float.__le__, ">": float.__gt__, "=": float.__eq__, "!=": float.__ne__}[operator]
        return lambda row: compare(float(row[name]), bound)

    def rule(self):
        if self.peek() == ("word", "any"):
            self.take("word")
            self.take("name", "row")
            parts = []
        else:
            parts = [self.condition()]
            while self.peek() == ("word", "and"):
                self.take("word")
                parts.append(self.condition())
        assert self.at == len(self.tokens), f"{self.tokens[self.at :]} is left over"
        return lambda row: all(part(row) for part in parts)


def read_rule(text):
    """A function of a row, a mapping of column name to float."""
    return Reader(text).rule()


LABEL = r"(?P<label>`(?:[^`]|``)*`(?!`)|[^\s:(]+)"
HEAD = re.compile(rf"cluster {LABEL}(?: \((?P<measures>[^)]*)\))?(?P<several>, \d+ rules)?:(?: (?P<rest>.*))?")
ALTERNATIVE = re.compile(r"    (?:either|or    ) \([^)]*\): (?P<rule>.*)")


def read_rules(text):
    """A function of a row that gives the label of the one cluster whose rules match, as it is printed."""
    clusters = []
    for line in text.split("\n"):
        head = HEAD.fullmatch(line)
        if head:
            label = unquote(head["label"]) if head["label"].startswith("`") else head["label"]
            alternatives = []
            clusters.append((label, alternatives))
            if head["several"]:
                assert head["rest"] is None
            elif head["measures"] is None:
                assert head["rest"].startswith("no rule")
            else:
                alternatives.append(read_rule(head["rest"]))
        else:
            alternatives.append(read_rule(ALTERNATIVE.fullmatch(line)["rule"]))

    def predict(row):
        found = [label for label, alternatives in clusters for rule in alternatives if rule(row)]
        assert len(found) == 1, f"{found} all claim {row}"
        return found[0]

    return predict


NODE = re.compile(r"(?P<indent>(?:\|   )*)\|-- (?:\[level (?P<level>\d+)\] )?(?P<rest>.*)")
LEAF = re.compile(rf"(?P<test>.*): cluster {LABEL}(?: \([^()]*\))?")
INNER = re.compile(r"(?P<test>.*?)(?: \(\d[\d,]* rows?[^()]*\))?")


def read_tree(text):
    """A function of a row that gives the label of the leaf it reaches, from the indented form."""
    first, *lines = text.split("\n")
    root = {"children": [], "label": None}
    single = re.fullmatch(rf"cluster {LABEL}(?: \([^()]*\))?", first)
    if single:
        root["label"] = single["label"]
    path = [root]
    for line in lines:
        node = NODE.fullmatch(line)
        level = int(node["level"]) if node["level"] else len(node["indent"]) // 4 + 1
        leaf = LEAF.fullmatch(node["rest"])
        made = {
            "test": read_rule((leaf or INNER.fullmatch(node["rest"]))["test"]),
            "label": leaf["label"] if leaf else None,
            "children": [],
        }
        del path[level:]
        path[-1]["children"].append(made)
        path.append(made)

    def predict(row):
        node = root
        while node["children"]:
            assert len(node["children"]) == 2
            (node,) = [child for child in node["children"] if child["test"](row)]
        return unquote(node["label"]) if node["label"].startswith("`") else node["label"]

    return predict


def as_rows(X, names):
    """Rows as mappings of names to float64 values."""
    return [dict(zip(names, map(float, row), strict=True)) for row in X]
