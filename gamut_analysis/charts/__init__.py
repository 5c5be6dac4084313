"""Figures: one function each, a tidy frame in, a chart out. Importing them makes the project's theme Altair's own.

``GAMUT_PROFILE`` names the medium that they are sized for: screen (the default), paper or slides.
"""

import os

from gamut_analysis.charts import theme

theme.enable(os.environ.get("GAMUT_PROFILE") or "screen")
