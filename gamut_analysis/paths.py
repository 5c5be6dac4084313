"""Where data, notebooks and reports are. Nobody else spells a path."""

import hashlib
import os
import re
import unicodedata
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
SQL = PACKAGE / "sql"
PAGE = PACKAGE / "template"


def root() -> Path:
    """The project folder: ``$GAMUT_HOME``, else the checkout that holds the package, else the current folder."""
    if home := os.environ.get("GAMUT_HOME"):
        return Path(home)
    checkout = PACKAGE.parent
    return checkout if (checkout / "notebooks").is_dir() else Path.cwd()


def data() -> Path:
    """Everything that is read: what ships, what the user brought, what is built from them."""
    return root() / "data"


def published() -> Path:
    """The paper's printed numbers, one csv a table."""
    return data() / "published"


def sample() -> Path:
    """The written sample benchmark."""
    return data() / "sample"


def warehouse() -> Path:
    """The built DuckDB files; a cache that can be deleted at any time."""
    return data() / "warehouse"


def answered() -> Path:
    """Answers of the models that were asked from here, a folder each."""
    return data() / "answered"


def judged() -> Path:
    """Answers with the verdicts of the judges that were asked from here, a folder each."""
    return data() / "judged"


def notebooks() -> Path:
    """The notebooks as they stand in the repository, without outputs."""
    return root() / "notebooks"


def reports() -> Path:
    """Everything that is generated for readers."""
    return root() / "reports"


def slug(name: str) -> str:
    """A folder name for any text: safe on every file system, and different for different texts.

    Letters and digits of any script stay; everything else becomes a hyphen. Whenever that loses something, eight
    digits of the text's SHA-256 are added, so that two names never share a folder.

    >>> slug("gemini-3.1-pro")
    'gemini-3.1-pro'
    >>> slug("../../etc/x")
    'etc-x-56da1a2e'
    """
    plain = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", name)).strip("-._")[:80]
    if plain == name and not plain.startswith("."):
        return plain
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{digest}" if plain else digest
