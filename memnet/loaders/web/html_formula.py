"""Formulas of MathML as a line of text."""

from memnet.loaders.document import one_line
from memnet.loaders.web.html_tree import Element

# What stands before, between and after the parts of a formula.
_BETWEEN = {
    "mfrac": ("(", ")/(", ")"),
    "msup": ("", "^", ""),
    "mover": ("", "^", ""),
    "msub": ("", "_", ""),
    "munder": ("", "_", ""),
    "mroot": ("√(", ")^1/", ""),
    "msqrt": ("√(", " ", ")"),
}
_STYLE = "{\\displaystyle "


def formula(math: Element) -> str:
    """A formula: in TeX where the page has that too, else in a line."""
    written = _annotation(math) or one_line(math.get("alttext"))
    if "\\" not in written:  # words for it, or none at all
        written = ""
    if written.startswith(_STYLE) and written.endswith("}"):
        written = written[len(_STYLE) : -1].strip()
    if written:
        return written
    parts: list[str] = []
    pending: list[Element | str] = [math]
    while pending:
        child = pending.pop()
        if isinstance(child, str):
            parts.append(child)
        elif child.tag in _BETWEEN:
            before, between, after = _BETWEEN[child.tag]
            inner: list[Element | str] = [before]
            for number, part in enumerate(child.elements()):
                inner += [between, part] if number else [part]
            pending += reversed([*inner, after])
        elif not child.tag.startswith("annotation"):
            pending += reversed(child.children)
    return one_line("".join(parts))


def _annotation(math: Element) -> str:
    pending = [math]
    while pending:
        element = pending.pop()
        if element.tag == "annotation" and "tex" in element.get("encoding").lower():
            return one_line("".join(child for child in element.children if isinstance(child, str)))
        pending += element.elements()
    return ""
