"""Monte Carlo studies on worlds with a known truth: do intervals cover, do tests keep their level?

A file of this folder lists its studies in ``studies() -> list[tuple[str, Callable[[], dict]]]``. Each study returns
``measured`` (a share of the worlds), ``target``, ``low`` and ``high`` (between which all is well), and ``worlds``.
``python -m tests.coverage`` runs them all, ``python -m tests.coverage rank gain`` those with one of these words in
their file or name.
"""
