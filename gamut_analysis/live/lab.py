"""Live parts in JupyterLab: a page of its own in a frame under the cell, because a notebook runs no script of ours."""

from dataclasses import dataclass
from html import escape
from typing import Any

from nbformat.v4 import new_code_cell, new_notebook, new_output

from gamut_analysis import page
from gamut_analysis.display import Text

# What a page has around its parts and a frame does not need.
_BARE = "<style>.rail, .skip, h1 { display: none } .layout { display: block; padding: 0 } .head { margin: 0 }</style>"
_STYLE = "width: 100%; border: 0; resize: vertical"


@dataclass(frozen=True)
class Framed:
    """A live part that JupyterLab shows in a frame; a page takes the part itself and leaves the frame.

    A part that is large says by ``in_lab`` what of it the frame holds, since a notebook holds both.
    """

    part: Any
    height: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data, about = self.part._repr_mimebundle_()
        shown, _ = getattr(self.part, "in_lab", self.part)._repr_mimebundle_()
        output = new_output("display_data", data=shown, metadata=about)
        own = page.to_html(new_notebook(cells=[new_code_cell(outputs=[output])]), title=self.part.name)
        held = escape(own.replace("</head>", f"{_BARE}</head>"))
        frame = f'{page.FRAME} srcdoc="{held}" style="{_STYLE}; height: {self.height}">'
        return data | {"text/html": f"{frame}{data['text/html']}</iframe>"}, about


def framed(part: Any, height: str = "44rem") -> Framed | Text:
    """A live part for a notebook, in a frame of a height that the reader may pull; a sentence stays a sentence."""
    return part if isinstance(part, Text) else Framed(part, height)
