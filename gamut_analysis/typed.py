"""Values exactly as they were typed, on the command line or after ``make``."""

import os
from pathlib import Path


def typed(name: str, option: str | None = None) -> str:
    """A value exactly as the user typed it: the option, else what make was given, else the environment.

    make drops blanks in front of a value; where the system shows make's own command line, they are found there.
    """
    if option is not None:
        return option
    value = os.environ.get(f"GAMUT_{name}", "")
    command_line = Path(f"/proc/{os.environ.get('GAMUT_MAKE_PID', 'none')}/cmdline")
    try:
        words = command_line.read_bytes().decode(errors="surrogateescape").split("\0")
    except OSError:
        return value
    given = [word.removeprefix(f"{name}=") for word in words if word.startswith(f"{name}=")]
    return given[-1] if given and given[-1].lstrip() == value else value
