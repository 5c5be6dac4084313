"""Parts of a page that a reader works with: filters to set, questions to open, sliders to move.

Each hands over its data once, as JSON under ``LIVE``, and the page's own script does the rest; beside it stands plain
HTML that says the same where no script runs. `lab` puts a part into a frame, in which it runs in JupyterLab too.
"""

LIVE = "application/vnd.gamut.live+json"
COMPONENTS = ("design", "explorer", "sliders")
