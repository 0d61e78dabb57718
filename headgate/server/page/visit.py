"""One open page: who looks at it, what they may do, and what they are told again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from nicegui import Client, events, ui
from starlette.requests import Request

from headgate.errors import ApplicationError
from headgate.server.page.charts import Palette, palette
from headgate.server.page.parts import SCOPE_KEY, PageParts
from headgate.server.page.problem_box import ProblemBox
from headgate.server.page.sign_in import COOKIE
from headgate.server.page.ticker import TICK_S, Watch
from headgate.server.tokens import Caller

T = TypeVar("T")


class Visit:
    """Made for each page that somebody opens; it ends when they leave."""

    def __init__(self, request: Request, client: Client) -> None:
        self._parts: PageParts = request.scope[SCOPE_KEY]
        self._cookie = request.cookies.get(COOKIE)
        self._client = client
        self._watches: list[Watch] = []
        self._troubled: Hashable = None  # the watch whose trouble is shown
        self._repaint: list[Callable[[], None]] = []
        self.chosen_theme = request.cookies.get("headgate_theme", "system")
        self.dark = (
            request.cookies.get("headgate_system") if self.chosen_theme == "system" else self.chosen_theme
        ) == "dark"
        self.service = self._parts.service
        self.trouble: ProblemBox | None = None  # where the page says that it cannot be brought up to date
        client.on_delete(self._leave)

    @property
    def caller(self) -> Caller | None:
        """Who it is, with the role that they have now; None: they have to sign in."""
        return self._parts.sessions.caller(self._cookie)

    @property
    def may_write(self) -> bool:
        """May they change anything?"""
        caller = self.caller
        return caller is not None and caller.may("write")

    @property
    def colors(self) -> Palette:
        """The colors of charts."""
        return palette(self.dark)

    # Look --------------------------------------------------------------------------------------------------------

    async def ask(self, verb: Callable[..., T], *arguments: Any) -> T:
        """Call the service without holding up the event loop. Raises ApplicationError, as the verb does."""
        return await asyncio.to_thread(verb, *arguments)

    def watch(
        self,
        key: Hashable,
        ask: Callable[[], Any],
        tell: Callable[[Any], None],
        fail: Callable[[ApplicationError], None] | None = None,
        every: float = TICK_S,
    ) -> Watch:
        """Be told what `ask` finds, at once and then again and again. It is asked once for all pages with this key.

        What goes wrong is told to `fail`; without, it is shown at the top of the page until it works again.
        """

        def told(found: Any) -> None:
            if self.caller is None:  # the token was taken away
                self._leave()
                with self._client:
                    ui.navigate.to("/sign-in")
                return
            with self._client:
                if fail is None:
                    self._show_trouble(key, None)
                tell(found)

        def failed(error: ApplicationError) -> None:
            with self._client:
                if fail is None:
                    self._show_trouble(key, error)
                else:
                    fail(error)

        watch = Watch(key, ask, told, failed, every)
        self._watches.append(watch)
        self._parts.ticker.add(watch)
        return watch

    def _show_trouble(self, key: Hashable, error: ApplicationError | None) -> None:
        """Show what fails for one of the watches, until it works again."""
        if self.trouble is not None and (error is not None or self._troubled == key):
            self._troubled = None if error is None else key
            self.trouble.show(error)

    def hurry(self) -> None:
        """Look again at once."""
        for watch in self._watches:
            self._parts.ticker.hurry(watch)

    # Change ------------------------------------------------------------------------------------------------------

    async def change(
        self, what: str, verb: Callable[..., Any], *arguments: Any, **named: Any
    ) -> ApplicationError | None:
        """Change something, and write it into the audit trail. Returns what was wrong with it; None: it is done."""
        caller = self.caller
        who = caller.name if caller else "unknown"
        if caller is None or not caller.may("write"):
            problem = "you may only look" if caller else "you are not signed in any more"
            await asyncio.to_thread(self._parts.audit.write, who, f"page: {what}", "403")
            return ApplicationError("page", problem, "sign in with a token of the role 'write'")
        try:
            await asyncio.to_thread(verb, *arguments, **named)
        except ApplicationError as error:
            await asyncio.to_thread(self._parts.audit.write, who, f"page: {what}", "refused")
            return error
        await asyncio.to_thread(self._parts.audit.write, who, f"page: {what}", "done")
        self.hurry()
        return None

    # Theme, and the end ------------------------------------------------------------------------------------------

    def on_theme(self, repaint: Callable[[], None]) -> None:
        """Call this when the page turns dark or light."""
        self._repaint.append(repaint)

    def theme_changed(self, event: events.GenericEventArguments) -> None:
        """The browser says whether the page is dark."""
        if bool(event.args) != self.dark:
            self.dark = bool(event.args)
            for repaint in self._repaint:
                repaint()

    def hidden_changed(self, event: events.GenericEventArguments) -> None:
        """The browser says whether anybody can see the page."""
        for watch in self._watches:
            watch.hidden = bool(event.args)
            if not watch.hidden:
                self._parts.ticker.hurry(watch)

    def _leave(self) -> None:
        for watch in self._watches:
            self._parts.ticker.remove(watch)
        self._watches.clear()
