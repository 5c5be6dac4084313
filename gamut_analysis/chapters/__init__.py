"""What each notebook tells, a module a chapter: its frames, figures, tables and sentences.

Frames join what the analyses give with names, sorted as a reader wants them; scores stay in [-1, 1] and shares in
[0, 1], and points and percent are made where they are shown. Titles say a finding in words made from the data, captions
say what is drawn, what the interval is and what n is. Of two sentences that could be true both stand here, and the true
one is printed.
"""
