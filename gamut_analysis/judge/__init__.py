"""From answers to verdicts: the prompt, the calls to a judge, the reading of its replies, and what is kept of them."""
