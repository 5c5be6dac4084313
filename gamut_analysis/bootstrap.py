"""Create .venv from requirements.lock on a machine that has Python and nothing else.

uv, brought into the environment by pip in seconds, installs everything; plain pip does it where uv cannot. Only the
standard library is used, and only this file knows how an environment is made.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
LOCK = ROOT / "requirements.lock"
OLDEST = (3, 11)


def run(*command: str) -> bool:
    """Run a command and tell whether it succeeded; its own messages are shown."""
    return subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode == 0


def create() -> None:
    """A bare environment, with a pip of its own only where the machine's pip cannot serve it."""
    if VENV.is_dir():
        return
    if not run(sys.executable, "-m", "venv", "--without-pip", str(VENV)):
        sys.exit("could not create .venv; on Debian and Ubuntu: apt install python3-venv")


def outer_pip(*arguments: str) -> bool:
    """The machine's pip acting on the environment; one that is made there by ensurepip where there is none."""
    if run(sys.executable, "-m", "pip", "--python", str(PYTHON), *arguments):
        return True
    return run(str(PYTHON), "-m", "ensurepip", "--upgrade") and run(str(PYTHON), "-m", "pip", *arguments)


def install_with_uv(uv: str) -> bool:
    """Everything in the lock, then the project itself, through uv."""
    if not outer_pip("install", "--quiet", "--disable-pip-version-check", uv):
        return False
    os.environ.setdefault("UV_SYSTEM_CERTS", "1")
    install = (str(PYTHON), "-m", "uv", "pip", "install", "--quiet", "--python", str(PYTHON))
    return run(*install, "--require-hashes", "-r", str(LOCK)) and run(
        *install, "--no-deps", "--no-build-isolation", "-e", "."
    )


def install_with_pip() -> bool:
    """The same through plain pip: slower, and everywhere."""
    quiet = ("install", "--quiet", "--disable-pip-version-check")
    return outer_pip(*quiet, "--require-hashes", "-r", str(LOCK)) and outer_pip(
        *quiet, "--no-deps", "--no-build-isolation", "-e", "."
    )


def main(uv: str) -> None:
    """Make the environment and mark it ready, or end with a message and a non-zero status."""
    if sys.version_info < OLDEST:
        sys.exit(f"Python 3.11 or newer is needed, and this is {sys.version.split()[0]}; make PYTHON=python3.12 ...")
    print("Setting up .venv from requirements.lock (once) ...", flush=True)
    create()
    if not install_with_uv(uv):
        print("uv could not do it; trying plain pip (about two minutes) ...", flush=True)
        if not install_with_pip():
            sys.exit("the environment could not be installed; the messages above say why. `make env` tries again")
    (VENV / ".ready").touch()


if __name__ == "__main__":
    main(*sys.argv[1:])
