"""The options that `run`, `simulate` and `explain` share, and what they do to an application."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:  # slow to import; `headgate --help` should not wait for them
    from headgate.api.application import Application
    from headgate.application.checked import RunLimits
    from headgate.application.overrides import Override

App = Annotated[Path, typer.Argument(metavar="APP", help="The application file (YAML).", show_default=False)]
PolicyOption = Annotated[
    str | None,
    typer.Option("--policy", metavar="NAME[:KEY=VALUE,...]", help="Use this policy instead of the file's."),
]
SlotsOption = Annotated[int | None, typer.Option("--slots", help="Number of slots, instead of the file's.")]
SecondsOption = Annotated[float | None, typer.Option("--seconds", help="End the run after this time.")]
IdleOption = Annotated[
    bool, typer.Option("--until-idle", help="End the run when the sources have ended and the queues are empty.")
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of all randomness, instead of the file's.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value of the file: --set streams.clicks.source.rate=3000"
    ),
]
MasterOption = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="Spark master: local[*] (default), spark://host:7077, yarn ..."),
]
PlotsOption = Annotated[
    Path | None,
    typer.Option(
        "--plot",
        metavar="FOLDER",
        help="Draw the latencies of each class, as boxes and over time, into this folder (PNG and SVG).",
        show_default=False,
    ),
]
RehearseOption = Annotated[
    bool | None,
    typer.Option(
        "--rehearse/--no-rehearse",
        help="Plan and try everything before the clock starts, or nothing, instead of what the first seconds need.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON value on stdout and nothing else.")]


def load(
    path: Path,
    changes: Sequence[str] | None = None,
    policy: str | None = None,
    slots: int | None = None,
    seed: int | None = None,
    rehearse: bool | None = None,
    checkpoint: str | None = None,
) -> Application:
    """The application with the command line's changes: `--policy`, `--slots` and `--seed` first, then each `--set`.

    Raises ApplicationError, which names the option when that is what is wrong.
    """
    from headgate.api.application import load as load_file

    return load_file(path, overrides(changes, policy, slots, seed, rehearse, checkpoint))


def load_or_empty(
    path: Path | None,
    changes: Sequence[str] | None = None,
    policy: str | None = None,
    slots: int | None = None,
    checkpoint: str | None = None,
) -> Application:
    """The application in a file; without one, an application with these settings alone."""
    from headgate.api.application import Application

    if path is None:
        return Application.empty(overrides(changes, policy, slots, checkpoint=checkpoint))
    return load(path, changes, policy, slots, checkpoint=checkpoint)


def overrides(
    changes: Sequence[str] | None = None,
    policy: str | None = None,
    slots: int | None = None,
    seed: int | None = None,
    rehearse: bool | None = None,
    checkpoint: str | None = None,
) -> list[str | Override]:
    """The options as changes of the file, in the order in which they apply."""
    from headgate.application.overrides import Override

    options: list[str | Override] = []
    if policy is not None:
        options.append(policy_override(policy))
    if slots is not None:
        options.append(Override(f"--slots {slots}", "slots", slots))
    if seed is not None:
        options.append(Override(f"--seed {seed}", "seed", seed))
    if rehearse is not None:
        options.append(Override("--rehearse" if rehearse else "--no-rehearse", "rehearse", rehearse))
    if checkpoint is not None:  # relative names start where the command runs, unlike those in the file
        place = checkpoint if ":/" in checkpoint else str(Path(checkpoint).absolute())
        options.append(Override(f"--checkpoint {checkpoint}", "checkpoint.path", place))
    return [*options, *(changes or ())]


def policy_override(text: str) -> Override:
    """Read `rr` or `rr:quantum=0.05,unit=path`; values are YAML."""
    from headgate.application.document import Document
    from headgate.application.overrides import Override
    from headgate.errors import ApplicationError

    label = f"--policy {text}"
    remedy = "write name or name:key=value,key=value, for example rr:quantum=0.05"
    name, colon, rest = text.partition(":")
    if not name.strip() or (colon and not rest.strip()):
        raise ApplicationError(label, "this does not name a policy", remedy)
    settings: dict[str, Any] = {"name": name.strip()}
    # A comma separates parameters only where a key follows, so that values may be lists.
    for part in re.split(r",(?=\s*[\w-]+\s*=)", rest) if rest else []:
        key, sign, value = part.partition("=")
        if not sign or not key.strip() or key.strip() == "name":
            raise ApplicationError(label, f"'{part.strip()}' is not key=value", remedy)
        try:
            settings[key.strip()] = Document(value).data
        except ApplicationError as error:
            raise ApplicationError(label, f"the value of '{key.strip()}' is not valid YAML", remedy) from error
    return Override(label, "policy", settings)


def limits(seconds: float | None, until_idle: bool) -> RunLimits:
    """When the run ends. Raises ApplicationError for a time that is not positive."""
    from headgate.application.checked import RunLimits
    from headgate.errors import ApplicationError

    if seconds is not None and not 0 < seconds < float("inf"):
        raise ApplicationError(f"--seconds {seconds:g}", "a run needs some time", "give a number above 0")
    return RunLimits(seconds, until_idle)
