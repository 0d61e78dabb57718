"""A slider for the priority of a class."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import events
from nicegui.element import Element

_COMMON_MOST = 10  # the right end, as long as no priority is larger


class PrioritySlider(Element, component="priority_slider.js"):
    """The browser's own slider, and its number."""

    def __init__(self, name: str, priority: int, enabled: bool) -> None:
        super().__init__()
        self.props["label"] = f"Priority of class {name}"
        self.props["most"] = max(_COMMON_MOST, priority)
        self.props["value"] = priority
        self.props["disabled"] = not enabled

    def on_chosen(self, act: Callable[[int], Awaitable[None]]) -> None:
        """Call this with the priority that somebody chose."""

        async def chosen(event: events.GenericEventArguments) -> None:
            if isinstance(event.args, int) and event.args >= 1:
                await act(event.args)

        self.on("chosen", chosen)

    def show(self, priority: int) -> None:
        """Show a priority that was not chosen here."""
        if priority > self.props["most"]:
            self.props["most"] = priority
        with self.props.suspend_updates():
            self.props["value"] = priority
        self.run_method("show", priority)
