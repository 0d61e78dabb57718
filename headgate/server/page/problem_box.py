"""Where an error is shown."""

from __future__ import annotations

from nicegui import ui

from headgate.errors import ApplicationError


class ProblemBox:
    """Where an error is shown: place, problem and remedy. Screen readers are told."""

    def __init__(self) -> None:
        with ui.element("div").classes("problem").props('role="alert" aria-live="polite"') as self._box:
            self._place = ui.label().classes("place")
            self._problem = ui.label()
            self._remedy = ui.label().classes("remedy")
        self.clear()

    def show(self, error: ApplicationError | None) -> None:
        """Show an error; None: there is none any more."""
        if error is None:
            self.clear()
            return
        self._place.set_text(error.place)
        self._problem.set_text(error.problem)
        self._remedy.set_text(error.remedy)
        self._remedy.set_visibility(bool(error.remedy))
        self._box.set_visibility(True)

    def clear(self) -> None:
        """Nothing is wrong."""
        self._box.set_visibility(False)
