"""What a finding says of values has a mark: proved, measured or assumed.

A number in a message or a note is about values unless it belongs to a name, a dtype, a place, a count of things or bytes, or a
version. Of the numbers that are left each finding has to say what they rest on: where they stand, or once for all of the finding
in its message or in a note.
"""
import re

MARK = re.compile(r"\b(proved|measured|assumed)\b")
# Rules whose numbers stand so in the file that they name: a scale of 0.25, an element of a data file.
QUOTES = {"DT016", "QN002", "QN003", "QN004", "QN005"}
# Rules of these families say nothing of values: structure, security, training, custom operators.
SILENT_OF_VALUES = {"ST", "SE", "TR"}
THINGS = ("nodes?|bytes?|B|elements?|[Cc]asts?|times|weights?|values?|thresholds?|pairs|multiply-adds|operands?|places?|scales?|slices|"
          "devices?|rows?|channels?|data sets?|dims?|inputs?|transfers?|branches|iterations|zero points|further|others?|"
          "more|\\w+ nodes?")
NOT_VALUES = [
    r"\b\d+ bytes instead of \d+", r"\b\d+ bytes (?:are )?read and (?:\d+ )?written(?:, and \d+ would)?",
    r"`[^`]*`", r'"[^"]*"', r"\S*(?:node\[|graph/|function\[)\S*", r"#\d+", r"\b[a-z]+\d+\w*\b", r"\b[\w-]+:\d+", r"\bsm\d+",
    r"\b\w*\d+-\d+\b", r"\b(?:opset|axis|rank|dim|dims|device|version|line|AVX-?|has|in:?|is)\s*\d+\b(?=[^.\d]|$)(?! ones)",
    r"\([\d.]+%[^)]*\)", r"\b[\d.]+%", r"\b(?:\d[\d.,]*(?:e[+-]?\d+)? (?:of|to) )?(?:about )?\d[\d.,]*(?:e[+-]?\d+)? (?:" + THINGS + r")\b",
    r"\bimports \d+", r"\bthe model says \d+", r"\b\d+ of \d+ (?= *nodes)",
    r"\(\d+ >= 2\*\d+\+2: [^)]*\)",  # the proof itself, of digits
    r"\b\d+ sigma\b", r"\(\d+ B\)"]


def of_values(text):
    """Is there a number about values in it?"""
    for pattern in NOT_VALUES:
        text = re.sub(pattern, " ", text)
    return re.search(r"\d", text) is not None


def unmarked(finding):
    """The text of a finding that states a number about values and has no mark; None: there is none."""
    if finding["rule"] in QUOTES or finding["rule"][:2] in SILENT_OF_VALUES:
        return None
    texts = [finding["message"], *finding["notes"]]
    if any(MARK.search(text) for text in texts):
        # What is only about so much has to say itself what it rests on.
        rough = [text for text in texts if re.search(r"\babout [\d.]+(?![\d.%])", text) and of_values(text) and "assumed" not in text]
        return rough[0] if rough else None
    return next((text for text in texts if of_values(text)), None)
