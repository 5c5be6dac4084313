"""What ties the charts of a page together: whose marks they hold, so that picking one picks it everywhere."""

from typing import Any

KINDS = ("model", "domain")


def linked(chart: Any, *, model: str | tuple[str, ...] = (), domain: str | tuple[str, ...] = ()) -> Any:
    """The chart with a note of which fields of its data name a model or a domain; the page reads it, Vega does not."""
    given = dict(zip(KINDS, (model, domain), strict=True))
    fields = {kind: [names] if isinstance(names, str) else list(names) for kind, names in given.items() if names}
    return chart.properties(usermeta={"gamut": {"links": fields}}) if fields else chart


def links_of(spec: dict[str, Any]) -> dict[str, list[str]]:
    """The fields that name a model or a domain, by kind; empty for a chart that stands by itself.

    >>> links_of({"usermeta": {"gamut": {"links": {"model": ["name"]}}}})
    {'model': ['name']}
    """
    return spec.get("usermeta", {}).get("gamut", {}).get("links", {})
