"""The routes, by subject; each module's ``router`` makes those of one memory."""

from starlette.convertors import PathConvertor, register_url_convertor


class _IdConvertor(PathConvertor):
    """Any text. Starlette's "path" ends before a line end, so that "a" would stand for "a\\n"."""

    regex = "(?s:.*)"


register_url_convertor("id", _IdConvertor())
