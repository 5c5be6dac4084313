"""The task `gamut` under Inspect's own command, for those who live there.

``inspect eval gamut_analysis/gamut -T answers=a.jsonl --model-role judge=openai/gpt-4o`` grades as ``gamut judge``
does, and keeps its calls in the same folder. ``gamut import`` reads its logs.
"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.model import get_model

from gamut_analysis.judge.account import Watch
from gamut_analysis.judge.journal import Journal
from gamut_analysis.judge.protocol import GRADE
from gamut_analysis.judge.run import Order, opened
from gamut_analysis.judge.task import grading_task


@task
def gamut(
    answers: str,
    rubrics: str = "",
    into: str = "",
    model: str = "",
    variant: str = "",
    replicates: int = 1,
    checks_per_call: int = 0,
    prompt: str = GRADE,
) -> Task:
    """Grade answers: each sample is one, and the model in the role ``judge`` scores it."""
    judge = get_model(role="judge")
    order = Order(
        answers=Path(answers),
        judge=str(judge),
        into=Path(into) if into else None,
        rubrics=rubrics,
        model=model,
        variant=variant,
        replicates=replicates,
        checks_per_call=checks_per_call,
        prompt=prompt,
    )
    return grading_task(opened(order, Journal(order.folder), judge, Watch()).session)
