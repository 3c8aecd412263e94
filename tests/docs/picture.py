"""`python -m tests.docs.picture`: draw `docs/images/demo.svg`, the demo's own picture of its evening at 21:39.

It is what `tidings demo` draws on a terminal of 118 columns and 38 lines, from the same events through the same engine.
A test draws it anew and compares.
"""

import io
import re
from pathlib import Path
from typing import Final
from unittest.mock import patch

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

from tests.docs.pages import ROOT
from tidings.cli import terminal
from tidings.cli.evening import Evening
from tidings.cli.stage import Stage

FILE: Final = ROOT / "docs" / "images" / "demo.svg"
SEED: Final = 1
MOMENT_MS: Final = 220 * 60_000
WIDTH: Final = 118
HEIGHT: Final = 38
FONT_SIZE: Final = 20.26
FONTS: Final = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def picture() -> str:
    """The demo at one moment, as SVG that asks no other server for fonts."""
    console = Console(
        file=io.StringIO(),
        record=True,
        width=WIDTH,
        height=HEIGHT,
        force_terminal=True,
        color_system="truecolor",
        no_color=False,
    )
    evening = Evening(SEED)
    stage = Stage(evening)
    with patch.object(terminal, "has_colour", return_value=True):
        for moment in evening:
            if moment.ms > MOMENT_MS:
                break
            stage.take(moment)
        console.print(stage.picture())
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    form = form.replace("font-family: Fira Code, monospace", f"font-family: {FONTS}")
    # Twenty pixels of Fira Code are 12.2 wide to Rich; this is the size at which the fonts above are.
    form = form.replace("font-size: {char_height}px", f"font-size: {FONT_SIZE}px")
    drawn = console.export_svg(title="tidings demo", code_format=form, unique_id="tidings")
    # Not every viewer keeps a space that does not break at the beginning of a run.
    return drawn.replace("&#160;", " ").replace("<text ", '<text xml:space="preserve" ')


def main(path: Path = FILE) -> None:
    """Write the picture."""
    path.write_text(picture(), encoding="utf-8")
    print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
