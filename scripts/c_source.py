"""c_source.py - what a C or CUDA file includes, defines, declares and uses.

SPDX-License-Identifier: BSD-3-Clause
"""
import re

SUFFIXES = (".c", ".h", ".cu", ".cuh", ".inc", ".h.in")
PREFIXES = ("szg_", "szgpu_")  # of functions whose names are unique in the library

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
DIRECTIVE = re.compile(r"\s*#\s*(\w+)(.*)")
MACRO = re.compile(r"\s*(\w+)(\([^)]*\))?(.*)")
STATIC_MACRO = re.compile(r"#\s*define\s+(\w+)\s[^\n]*\bstatic\b")
TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|->|\"(?:\\.|[^\"\\])*\"|\S")


def is_header(path):
    return not path.endswith((".c", ".cu"))


def is_name(token):
    return token[0].isalpha() or token[0] == "_"


def names_in(tokens):
    return [token for token in tokens if is_name(token)]


def static_macros(texts):
    """Macros such as SZG_HD that make a function static."""
    return {name for text in texts for name in STATIC_MACRO.findall(text)}


class Source:
    """One file. The parser follows braces and parentheses and knows no types.

    A name before parameters and a brace is a function. A name before "=" outside of functions is a
    table, except in a header, where it is a constant. The file uses every name in a function's body
    or a table, and what stands in the macros that it uses.
    """

    def __init__(self, path, text, static_words):
        self.path = path
        self.includes = []  # (line, what stands in the quotes)
        self.defined = set()  # for other files too
        self.private = set()  # defined static, or in a namespace without a name
        self.declared = set()
        self.functions = set()  # the declared functions whose names have a prefix
        self.uses = {}  # name: line of its first use
        self.macros = {}  # name: the names in its body
        self.words = {}  # every name outside of directives: line where it first stands
        self._static_words = static_words | {"static"}
        self._scopes = []  # (what the open braces hold, the tokens before them)
        self._head = []  # outside of functions, the tokens since the last declaration ended
        self._parse(text)
        if self._scopes:
            raise ValueError(f"{path}: the braces do not match")

    def _parse(self, text):
        branches = []  # what was open at each #if; its #else begins with the same
        for line, text_of_line in lines_without_comments(text):
            directive = DIRECTIVE.match(text_of_line)
            if not directive:
                self._read_tokens(line, TOKEN.findall(text_of_line))
                continue
            word, rest = directive.groups()
            if word == "include" and rest.strip().startswith('"'):
                self.includes.append((line, rest.split('"')[1]))
            elif word == "define":
                name, _, body = MACRO.match(rest).groups()
                self.macros.setdefault(name, set()).update(names_in(TOKEN.findall(body)))
            elif word in ("if", "ifdef", "ifndef"):
                branches.append((list(self._scopes), list(self._head)))
            elif word in ("else", "elif"):
                self._scopes, self._head = (list(part) for part in branches[-1])
            elif word == "endif":
                branches.pop()

    def _read_tokens(self, line, tokens):
        previous = ""
        for name in names_in(tokens):
            self.words.setdefault(name, line)
        for token in tokens:
            in_body = self._is_in("body")
            if token == "{":
                self._open(in_body)
            elif token == "}":
                self._close()
            elif in_body:
                if previous not in (".", "->"):
                    self._note_uses(line, [token])
            elif token == ";":
                self._end_declaration(line)
            else:
                self._head.append(token)
            previous = token

    def _open(self, in_body):
        head = without_template(self._head)
        while head and head[-1] in ("const", "noexcept", "override"):
            head.pop()
        if in_body:
            scope = "body"
        elif "namespace" in head:
            scope = "private" if head[-1] == "namespace" else "public"
        elif len(head) == 2 and head[0] == "extern":
            scope = "public"
        elif "=" in without_parentheses(head):
            scope = "body"
            self._define_table(head)
        elif head and head[-1] == ")":
            scope = "body"
            self._define(function_in(head))
        else:
            scope = "type"
        self._scopes.append((scope, self._head))
        self._head = []

    def _close(self):
        if not self._scopes:
            raise ValueError(f"{self.path}: the braces do not match")
        scope, head = self._scopes.pop()
        self._head = head if scope == "type" else []

    def _is_in(self, kind):
        return any(scope == kind for scope, _ in self._scopes)

    def _define(self, name):
        if not name or self._is_in("type"):
            return
        is_private = self._is_in("private") or bool(self._static_words & set(self._head))
        (self.private if is_private and not is_header(self.path) else self.defined).add(name)

    def _define_table(self, head):
        if not is_header(self.path):
            self._define(name_before(head, "="))

    def _end_declaration(self, line):
        head = self._head
        if self._is_in("type"):
            pass
        elif "=" in without_parentheses(head):
            self._define_table(head)
            self._note_uses(line, head[head.index("=") + 1:])
        elif head[:1] in (["static_assert"], ["_Static_assert"]):
            self._note_uses(line, head)
        elif head and head[0] != "typedef":
            function = function_in(head)
            if function or head[0] == "extern":
                self.declared.add(function or name_before(head, "["))
            if function and function.startswith(PREFIXES):
                self.functions.add(function)
        self._head = []

    def _note_uses(self, line, tokens):
        for name in names_in(tokens):
            self.uses.setdefault(name, line)


def lines_without_comments(text):
    """(number, line) of each line; lines that end with a backslash are joined."""
    def blank(match):
        found = match.group()
        return found if found[0] == '"' else " " + "\n" * found.count("\n")

    joined, first = "", 1
    for number, line in enumerate(COMMENT.sub(blank, text).split("\n"), 1):
        first = first if joined else number
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield first, joined + line
        joined = ""


def without_template(head):
    """A copy of head, without the "template <...>" that it may begin with."""
    if head[:1] != ["template"]:
        return list(head)
    depth = 0
    for at, token in enumerate(head):
        depth += (token == "<") - (token == ">")
        if token == ">" and depth == 0:
            return without_template(head[at + 1:])
    return []


def without_parentheses(tokens):
    """The tokens outside of parentheses; of those only the outermost pairs are left."""
    outside, depth = [], 0
    for token in tokens:
        depth -= token == ")"
        if depth == 0:
            outside.append(token)
        depth += token == "("
    return outside


def function_in(head):
    """The name before the last parentheses, or None."""
    outside = without_parentheses(head)
    at = max((i for i, token in enumerate(outside) if token == "("), default=0)
    return outside[at - 1] if at > 0 and is_name(outside[at - 1]) else None


def name_before(head, mark):
    """The name that is declared before `mark` or, of an array, before its dims; None if none is."""
    tokens = head[:head.index(mark)] if mark in head else head
    tokens = tokens[:tokens.index("[")] if "[" in tokens else tokens
    return next((token for token in reversed(tokens) if is_name(token)), None)
