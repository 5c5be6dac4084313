"""Live parts in JupyterLab: a page of its own in a frame under the cell, because a notebook runs no script of ours."""

from dataclasses import dataclass
from html import escape
from typing import Any

from nbformat.v4 import new_code_cell, new_notebook, new_output

from gamut_analysis import page
from gamut_analysis.display import Text

# What a page has around its parts and a frame does not need.
_BARE = "<style>.rail, .skip, h1 { display: none } .layout { display: block; padding: 0 } .head { margin: 0 }</style>"
_STYLE = "width: 100%; height: 44rem; border: 0; resize: vertical"


@dataclass(frozen=True)
class Framed:
    """A live part that JupyterLab shows in a frame; a page takes the part itself and leaves the frame."""

    part: Any

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        data, about = self.part._repr_mimebundle_()
        output = new_output("display_data", data=data, metadata=about)
        own = page.to_html(new_notebook(cells=[new_code_cell(outputs=[output])]), title=self.part.name)
        frame = f'{page.FRAME} srcdoc="{escape(own.replace("</head>", f"{_BARE}</head>"))}" style="{_STYLE}">'
        return data | {"text/html": f"{frame}{data['text/html']}</iframe>"}, about


def framed(part: Any) -> Framed | Text:
    """A live part for a notebook; a sentence in its place stays a sentence."""
    return part if isinstance(part, Text) else Framed(part)
