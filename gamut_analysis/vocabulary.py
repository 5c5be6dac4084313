"""The words of the field, fixed once: values, order, labels and colours.

Every column, argument, axis and sentence of the project takes its words from here. The tuples are in reporting
order. ``normalise_label`` reads the spellings that occur in the wild, as whole labels only.
"""

import re
import unicodedata

VERDICTS = ("meets", "partially_meets", "missing", "contradicts")
TIERS = ("answer_critical", "valuable", "context")
ITEM_TYPES = ("simple_knowledge", "strict_list", "flexible_list", "process", "relationship")
ROLES = (
    "fact",
    "list_item",
    "baseline",
    "bonus",
    "threshold",
    "step",
    "optional_step",
    "sequence",
    "full_sequence",
    "relationship",
    "insight",
)
VARIANTS = ("multimodal", "text_only")

VERDICT_LABELS = {
    "meets": "Meets",
    "partially_meets": "Partially meets",
    "missing": "Missing",
    "contradicts": "Contradicts",
}
TIER_LABELS = {"answer_critical": "Answer-Critical", "valuable": "Valuable", "context": "Context"}
VARIANT_LABELS = {"multimodal": "Multimodal", "text_only": "Text-only"}
ITEM_TYPE_LABELS = {
    "simple_knowledge": "Simple knowledge",
    "strict_list": "Strict list",
    "flexible_list": "Flexible list",
    "process": "Process",
    "relationship": "Relationship",
}
ROLE_LABELS = {
    "fact": "Fact",
    "list_item": "List item",
    "baseline": "Baseline",
    "bonus": "Bonus",
    "threshold": "Threshold",
    "step": "Step",
    "optional_step": "Optional step",
    "sequence": "Sequence",
    "full_sequence": "Full sequence",
    "relationship": "Relationship",
    "insight": "Insight",
}

# Okabe-Ito blues and vermilion with a neutral grey: told apart by colour-blind readers and in greyscale.
VERDICT_COLOURS = {
    "meets": "#0072B2",
    "partially_meets": "#56B4E9",
    "missing": "#BDBDBD",
    "contradicts": "#D55E00",
}
# One hue in three strengths: tiers are ordered.
TIER_COLOURS = {"answer_critical": "#0B3C5D", "valuable": "#4A87B0", "context": "#A9CBE0"}

# Spellings that are the same label under another name. Anything else must come from a manifest.
TIER_ALIASES = {"critical": "answer_critical"}
VARIANT_ALIASES = {"text": "text_only", "textonly": "text_only", "mm": "multimodal"}

# Soft hyphen, zero-width blanks and joiners, marks of direction, byte order mark.
_INVISIBLE = dict.fromkeys([0x00AD, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF])
_MARKUP = "*`\"'“”‘’_~ "
_TRAILING = ".:;,!"


def normalise_label(text: str) -> str:
    """Reduce one label to lower snake case without its markup, never looking inside it.

    Case, blanks (no-break and zero-width ones too), any hyphen, underscores, stars, backticks, quotes, camel case
    and one run of closing punctuation are ignored. A label that holds more than one label stays unknown.

    >>> normalise_label("**Partially-Meets**")
    'partially_meets'
    >>> normalise_label("does not meet")
    'does_not_meet'
    """
    text = unicodedata.normalize("NFKC", text).translate(_INVISIBLE)
    text = re.sub(r"\s+", " ", text).strip(_MARKUP).rstrip(_TRAILING).strip(_MARKUP)
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text)
    return re.sub(r"[ _\-‐-―−]+", "_", text).casefold()


def as_verdict(text: str) -> str | None:
    """The verdict that a label spells, or None when it spells none of the four."""
    label = normalise_label(text)
    return label if label in VERDICTS else None


def as_tier(text: str) -> str | None:
    """The tier that a label spells, or None when it spells none of the three."""
    label = normalise_label(text)
    label = TIER_ALIASES.get(label, label)
    return label if label in TIERS else None


def as_variant(text: str) -> str | None:
    """The variant that a label spells, or None when it spells neither."""
    label = normalise_label(text)
    label = VARIANT_ALIASES.get(label, label)
    return label if label in VARIANTS else None


def as_role(text: str) -> str | None:
    """The compiler role that a label spells, or None."""
    label = normalise_label(text)
    return label if label in ROLES else None


def as_item_type(text: str) -> str | None:
    """The item type that a label spells, or None."""
    label = normalise_label(text)
    return label if label in ITEM_TYPES else None
