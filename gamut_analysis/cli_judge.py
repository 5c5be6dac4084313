"""The commands that call models: a thin skin over ``judge``, which is imported when one of them runs."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from gamut_analysis import paths
from gamut_analysis.errors import GamutError, UnknownName
from gamut_analysis.terminal import bar, err, out, print_frame

if TYPE_CHECKING:
    from gamut_analysis.judge.account import Estimate, Outcome, Watch
    from gamut_analysis.judge.calibrate import Calibration
    from gamut_analysis.judge.journal import Call

_EXTRA = (
    "this command calls models through Inspect AI, which is an extra: pip install 'gamut-analysis[judge]' ({error})"
)
_LINES = 10  # of progress, where there is no terminal to draw a bar on

app = typer.Typer()

BaseUrl = Annotated[
    str, typer.Option(help="the endpoint, http://.../v1; $OPENAI_BASE_URL if not given; its key is $OPENAI_API_KEY")
]
Connections = Annotated[int, typer.Option(help="calls under way at a time")]
Prices = Annotated[str, typer.Option(help="a price file (TOML); the one that ships if not given")]
MaxCost = Annotated[
    float | None,
    typer.Option(help="USD that this run may cost; no call is begun that looks like exceeding it"),
]
Rubrics = Annotated[
    str, typer.Option(help="meta-rubrics (YAML, JSON), or a folder or database that has checks; else the sample's")
]
ChecksPerCall = Annotated[int, typer.Option(help="checks in one call; 0 for all of an answer")]
PromptName = Annotated[str, typer.Option(help="a prompt that ships, by its version, or a file of your own")]
Attempts = Annotated[int, typer.Option(help="calls about one portion of checks, the first included")]
NoSchema = Annotated[bool, typer.Option("--no-schema", help="do not ask the provider for structured output")]
Again = Annotated[bool, typer.Option("--again", help="ask once more about checks that stayed ungraded")]
Temperature = Annotated[float | None, typer.Option(help="the provider's default if not given")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask before the first call")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="tell the calls, tokens and cost, and call nothing")]


@app.command()
def judge(
    answers: Annotated[Path, typer.Argument(help="a file of answers: model, variant, question_id, answer (or error)")],
    judge: Annotated[
        str, typer.Option(help="the judge: openai/gpt-4o, or a bare name at an OpenAI-compatible endpoint")
    ],
    into: Annotated[
        Path | None, typer.Option(help="the folder that gets everything; data/judged/<name of the answers>")
    ] = None,
    rubrics: Rubrics = "",
    replicates: Annotated[int, typer.Option(help="how often each answer is graded")] = 1,
    checks_per_call: ChecksPerCall = 0,
    limit: Annotated[int, typer.Option(help="grade only the first N answers; 0 for all")] = 0,
    max_cost: MaxCost = None,
    prices: Prices = "",
    base_url: BaseUrl = "",
    model: Annotated[str, typer.Option(help="who answered, where the file does not say")] = "",
    variant: Annotated[str, typer.Option(help="multimodal or text_only, where the file does not say")] = "",
    name: Annotated[str, typer.Option(help="the judge's name in the data; the model's own if not given")] = "",
    prompt: PromptName = "grade-1",
    temperature: Temperature = None,
    attempts: Attempts = 3,
    connections: Connections = 20,
    no_schema: NoSchema = False,
    again: Again = False,
    simulated: Annotated[bool, typer.Option("--simulated", help="mark the data as SIMULATED on every page")] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Have a judge grade answers: tells calls, tokens and cost first; a second run does only what is missing."""
    run = _needs_inspect()
    order = run.Order(
        answers=answers,
        judge=judge,
        into=into,
        rubrics=rubrics,
        model=model,
        variant=variant,
        replicates=replicates,
        checks_per_call=checks_per_call,
        limit=limit,
        max_cost=max_cost,
        prices=prices,
        prompt=prompt,
        name=name,
        base_url=base_url,
        connections=connections,
        attempts=attempts,
        temperature=temperature,
        structured=not no_schema,
        again=again,
        simulated=simulated,
    )
    with _Shown("graded", yes, dry_run) as shown:
        outcome = run.judge_answers(order, shown.watch())
    if not dry_run:
        _tell(outcome, "answer", f"make report DATA={_shell(outcome.folder, paths.root())} MODEL=...", "check")


@app.command()
def generate(
    model: Annotated[str, typer.Option(help="who is asked: openai/gpt-4o, or a bare name at a compatible endpoint")],
    into: Annotated[Path | None, typer.Option(help="the folder that gets everything; data/answered/<model>")] = None,
    rubrics: Rubrics = "",
    variant: Annotated[
        str, typer.Option(help="multimodal or text_only; with pictures where --images names some, else without")
    ] = "",
    images: Annotated[Path | None, typer.Option(help="the folder of pictures, <image_id>.jpg")] = None,
    limit: Annotated[int, typer.Option(help="ask only the first N questions; 0 for all")] = 0,
    max_cost: MaxCost = None,
    prices: Prices = "",
    base_url: BaseUrl = "",
    name: Annotated[str, typer.Option(help="the model's name in the data; its own if not given")] = "",
    temperature: Temperature = None,
    max_tokens: Annotated[int | None, typer.Option(help="of one answer; the provider's default if not given")] = None,
    connections: Connections = 20,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Ask a model the questions, and leave its answers in a file that `gamut judge` takes; only what is missing."""
    _needs_inspect()
    from gamut_analysis.judge.generate import Questions, generate_answers

    order = Questions(
        model=model,
        into=into,
        rubrics=rubrics,
        variant=variant,
        images=images,
        limit=limit,
        max_cost=max_cost,
        prices=prices,
        name=name,
        base_url=base_url,
        connections=connections,
        temperature=temperature,
        max_tokens=max_tokens,
    )
    with _Shown("asked", yes, dry_run) as shown:
        outcome = generate_answers(order, shown.watch())
    if not dry_run:
        _tell(outcome, "question", f"gamut judge {_shell(outcome.folder / 'answers.jsonl', Path.cwd())} --judge ...")


@app.command("text-only")
def text_only(
    model: Annotated[str, typer.Option(help="who rewrites: openai/gpt-4o, or a bare name at a compatible endpoint")],
    rubrics: Annotated[
        list[Path] | None,
        typer.Argument(help="rubric files (.yaml, .json, .jsonl) or folders; the sample's if not given"),
    ] = None,
    into: Annotated[Path | None, typer.Option(help="the folder that gets everything")] = None,
    limit: Annotated[int, typer.Option(help="only the first N questions; 0 for all")] = 0,
    max_cost: MaxCost = None,
    prices: Prices = "",
    base_url: BaseUrl = "",
    connections: Connections = 20,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Have questions rewritten to name their subject, and sort out those that need the picture: a file to check."""
    _needs_inspect()
    from gamut_analysis.judge.text_only import Wordings, rewrite_questions

    order = Wordings(
        model=model,
        rubrics=rubrics or (),
        into=into,
        limit=limit,
        max_cost=max_cost,
        prices=prices,
        base_url=base_url,
        connections=connections,
    )
    with _Shown("rewritten", yes, dry_run) as shown:
        outcome = rewrite_questions(order, shown.watch())
    if not dry_run:
        _tell(outcome, "question", "check it, and copy what you agree with into question_text_only of the rubrics")


@app.command()
def calibrate(
    judge: Annotated[
        str, typer.Option(help="the judge: openai/gpt-4o, or a bare name at an OpenAI-compatible endpoint")
    ] = "",
    into: Annotated[
        Path | None, typer.Option(help="the folder that gets everything; data/judged/calibration-<judge>")
    ] = None,
    rubrics: Annotated[str, typer.Option(help="meta-rubrics (YAML, JSON, a folder); the sample's if not given")] = "",
    questions: Annotated[int, typer.Option(help="questions that controls are made for")] = 10,
    checks_per_call: ChecksPerCall = 0,
    max_cost: MaxCost = None,
    prices: Prices = "",
    base_url: BaseUrl = "",
    prompt: PromptName = "grade-1",
    temperature: Temperature = None,
    attempts: Attempts = 3,
    connections: Connections = 20,
    no_schema: NoSchema = False,
    again: Again = False,
    export: Annotated[
        Path | None, typer.Option(help="write the right verdicts (JSON: answer, check, verdict) to this file")
    ] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Try a judge on made-up answers with known right verdicts: where it errs, and whether it can be used at all."""
    _needs_inspect()
    from gamut_analysis.judge.calibrate import Trial, calibrate_judge, control_rubrics, controls_of, export_right

    if export is not None:
        export_right(controls_of(control_rubrics(rubrics), questions), export)
        out.print(Text(str(export)), soft_wrap=True)
    if not judge:
        if export is None:
            raise UnknownName("--judge is missing: openai/gpt-4o, or a bare name at an OpenAI-compatible endpoint")
        return
    trial = Trial(
        judge=judge,
        into=into,
        rubrics=rubrics,
        questions=questions,
        checks_per_call=checks_per_call,
        max_cost=max_cost,
        prices=prices,
        prompt=prompt,
        base_url=base_url,
        connections=connections,
        attempts=attempts,
        temperature=temperature,
        structured=not no_schema,
        again=again,
    )
    with _Shown("graded", yes, dry_run) as shown:
        outcome, calibration = calibrate_judge(trial, shown.watch())
    if not dry_run:
        _tell(outcome, "answer", "calibration.json and calibration.csv hold all of this", "check")
    if calibration is not None:
        _tell_calibration(calibration)


def _tell_calibration(calibration: "Calibration") -> None:
    """Print where a judge errs and whether it can be used; one that cannot is status 1."""
    from gamut_analysis.judge.calibrate import MEANING, NOT_USABLE, NOTE

    out.print(Text(NOTE), soft_wrap=True)
    for title, frame in calibration.shown():
        out.print()
        print_frame(title, frame)
    out.print()
    for line in calibration.worst():
        out.print(Text(line), soft_wrap=True)
    out.print()
    out.print(Text(f"{calibration.judge}: {calibration.conclusion}", style="bold"), soft_wrap=True)
    for why in calibration.why:
        out.print(Text(f"  {why}"), soft_wrap=True)
    out.print(Text(MEANING), soft_wrap=True)
    if calibration.conclusion == NOT_USABLE:
        raise typer.Exit(1)


def _needs_inspect():
    """The module that runs a judge. Raises GamutError where the extra is not installed."""
    try:
        from gamut_analysis.judge import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("inspect_ai", "openai", "anyio"):
            raise GamutError(_EXTRA.format(error=error)) from error
        raise
    return run


class _Shown:
    """A run on the terminal: the estimate, a question, then a bar; now and then a line where there is no terminal."""

    def __init__(self, word: str, yes: bool, dry_run: bool) -> None:
        self._word, self._yes, self._dry_run = word, yes, dry_run
        self._bar = bar(time_left=True)
        self._task = self._bar.add_task(word, total=0)
        self._done = self._total = 0
        self._cost: float | None = None

    def __enter__(self) -> "_Shown":
        return self

    def __exit__(self, *problem: object) -> None:
        self._bar.stop()

    def watch(self) -> "Watch":
        """Who tells it what happens."""
        from gamut_analysis.judge.account import Watch

        return Watch(self._estimate, self._one_more, self._called)

    def _estimate(self, name: str, estimate: "Estimate") -> bool:
        for line in _estimate_lines(name, estimate):
            err.print(Text(line), soft_wrap=True)
        self._total = estimate.todo
        if self._dry_run:
            return False
        if (
            estimate.calls
            and not self._yes
            and sys.stdin.isatty()
            and not typer.confirm("Go on?", default=True, err=True)
        ):
            return False
        if estimate.calls and err.is_terminal:
            err.print("  Ctrl-C ends it after the calls that are under way, a second one at once", soft_wrap=True)
        self._bar.update(self._task, total=estimate.todo)
        self._bar.start()
        return True

    def _one_more(self) -> None:
        self._done += 1
        self._bar.update(self._task, completed=self._done)
        step = max(self._total // _LINES, 1)
        if not err.is_terminal and self._done % step == 0:
            err.print(f"{self._word} {self._done} of {self._total}")

    def _called(self, call: "Call") -> None:
        if call.cost_usd is not None:
            self._cost = (self._cost or 0.0) + call.cost_usd
            self._bar.update(self._task, description=f"{self._word}, {self._cost:.2f} USD")


def _estimate_lines(name: str, estimate: "Estimate") -> list[str]:
    lines = [f"{name}: {_many(estimate.todo, estimate.what)}{'' if estimate.todo else ' left to do'}"]
    notes = ((estimate.done, "done before"), *estimate.notes)
    lines += [f"  {count:,} {told}" for count, told in notes if count]
    if not estimate.calls:
        return lines
    tokens = f"about {estimate.input_tokens:,} tokens in and {estimate.output_tokens:,} out"
    lines.append(f"  {_many(estimate.calls, 'call')}, {tokens}; more where a reply must be asked for again")
    if estimate.price is None:
        lines.append("  cost unknown: the price file has no such model (--prices)")
    else:
        since = f" at the prices of {estimate.price.as_of}" if estimate.price.as_of else ""
        lines.append(f"  about {estimate.cost:.2f} USD{since}")
    return lines


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _tell(outcome: "Outcome", what: str, then: str, unread: str = "question") -> None:
    """Tell what a run came to and what comes next; a run that ended early is status 1, or 130 after Ctrl-C."""
    cost = "" if outcome.cost is None else f", {outcome.cost:.2f} USD"
    tokens = f"{outcome.input_tokens:,} tokens in, {outcome.output_tokens:,} out"
    out.print(f"{_many(outcome.calls, 'call')}, {tokens}{cost}", soft_wrap=True)
    if outcome.ungraded:
        out.print(
            f"{_many(outcome.ungraded, unread)} got no reply that could be read; the reasons are there", soft_wrap=True
        )
    if outcome.folder.exists():
        out.print(Text(f"{outcome.folder}: {then}"), soft_wrap=True)
    if outcome.stopped or outcome.left:
        why = f"{outcome.stopped}; " if outcome.stopped else ""
        left = f"{_many(outcome.left, what)} left; the same command goes on from here"
        err.print(Text(f"gamut: {why}{left}"), soft_wrap=True)
        raise typer.Exit(130 if "Ctrl-C" in outcome.stopped else 1)


def _shell(path: Path, seen_from: Path) -> str:
    """A path as it is typed in a shell at some folder."""
    import shlex

    whole = path.resolve()
    return shlex.quote(str(whole.relative_to(seen_from) if whole.is_relative_to(seen_from) else whole))
