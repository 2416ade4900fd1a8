import pytest

from tests.unit.loaders.parsed import kinds, only, read, texts

_GO = """\
// Package lamps lights them.
package lamps

import "fmt"

// --- Lamps ------------------------------------

// Lamp burns oil.
//
// It is red.
type Lamp struct {
\tOil int // litres
}

// Light lights it.
func (l *Lamp) Light(hours int) error {

\treturn fmt.Errorf("x { %d", hours)
}
"""
_JAVA = """\
/*
 * Copyright Ann.
 */
package pier;

/**
 * A <b>lamp</b> that uses {@link Oil}.
 *
 * <p>It is red.
 */
public class Lamp {
    private int oil = 3;

    /** Lights it for {@code hours}. */
    @Override
    public void light(int hours) {
        if (hours > 0) {
            burn();
        }
    }

    int burn() {
        return oil--;
    }
    /* a comment
at the margin

    with a gap */
    Lamp(int oil) {
        this.oil = oil;
    }

    static final int[] HOURS = {
        1,
        2,
    };
}
"""
_SQL = """\
-- Lamps of the pier.
CREATE TABLE IF NOT EXISTS lamps (
    id INTEGER, -- key
    colour TEXT
);
-- Its oil.
CREATE TABLE oil (litres INT);

INSERT INTO oil VALUES (3);
"""
_JS = """\
import fs from "fs";

/** Lights a lamp. */
export async function light(lamp) {
  return lamp;
}

export const trim = (wick) => {
  return wick;
};

module.exports = { light };
"""
_SHELL = """\
#!/bin/sh
set -e

# Lights a lamp.
light() {
  echo lit
}

light
"""


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        (
            "lamp.go",
            _GO,
            [
                ("paragraph", "Package lamps lights them."),
                ("code", "package lamps"),
                ("code", 'import "fmt"'),
                ("paragraph", "Lamps"),
                ("heading", "Lamp"),
                ("paragraph", "Lamp burns oil."),
                ("paragraph", "It is red."),
                ("code", "type Lamp struct {\n\tOil int // litres\n}"),
                ("heading", "Lamp.Light"),
                ("paragraph", "Light lights it."),
                (
                    "code",
                    "func (l *Lamp) Light(hours int) error {\n\n"
                    '\treturn fmt.Errorf("x { %d", hours)\n}',
                ),
            ],
        ),
        (
            "Lamp.java",
            _JAVA,
            [
                ("paragraph", "Copyright Ann."),
                ("code", "package pier;"),
                ("heading", "Lamp"),
                ("paragraph", "A lamp that uses Oil."),
                ("paragraph", "It is red."),
                ("code", "public class Lamp {"),
                ("code", "    private int oil = 3;"),
                ("heading", "Lamp.light"),
                ("paragraph", "Lights it for hours."),
                (
                    "code",
                    "    @Override\n    public void light(int hours) {\n        if (hours > 0) {\n"
                    "            burn();\n        }\n    }",
                ),
                ("heading", "Lamp.burn"),
                ("code", "    int burn() {\n        return oil--;\n    }"),
                ("heading", "Lamp.Lamp"),
                ("paragraph", "a comment\nat the margin"),
                ("paragraph", "with a gap"),
                ("code", "    Lamp(int oil) {\n        this.oil = oil;\n    }"),
                ("heading", "Lamp.HOURS"),
                ("code", "    static final int[] HOURS = {\n        1,\n        2,\n    };\n}"),
            ],
        ),
        (
            "lamps.sql",
            _SQL,
            [
                ("heading", "lamps"),
                ("paragraph", "Lamps of the pier."),
                (
                    "code",
                    "CREATE TABLE IF NOT EXISTS lamps (\n    id INTEGER, -- key\n"
                    "    colour TEXT\n);",
                ),
                ("heading", "oil"),
                ("paragraph", "Its oil."),
                ("code", "CREATE TABLE oil (litres INT);"),
                ("heading", "lamps.sql"),
                ("code", "INSERT INTO oil VALUES (3);"),
            ],
        ),
        (
            "lamp.js",
            _JS,
            [
                ("code", 'import fs from "fs";'),
                ("heading", "light"),
                ("paragraph", "Lights a lamp."),
                ("code", "export async function light(lamp) {\n  return lamp;\n}"),
                ("heading", "trim"),
                ("code", "export const trim = (wick) => {\n  return wick;\n};"),
                ("heading", "lamp.js"),
                ("code", "module.exports = { light };"),
            ],
        ),
        (
            "lamp.sh",
            _SHELL,
            [
                ("code", "set -e"),
                ("heading", "light"),
                ("paragraph", "Lights a lamp."),
                ("code", "light() {\n  echo lit\n}"),
                ("heading", "lamp.sh"),
                ("code", "light"),
            ],
        ),
    ],
)
def test_definitions_of_other_languages(
    name: str, source: str, expected: list[tuple[str, str]]
) -> None:
    found = only(read(name, source))
    assert kinds(found) == expected
    lines = source.split("\n")
    for block, text in zip(found.blocks, texts(found), strict=True):
        if block.kind == "code":
            assert lines[int(block.place.removeprefix("line ")) - 1] == text.split("\n")[0]
