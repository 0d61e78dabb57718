"""What all pages have: the header with its links and the theme, headings, and how errors are shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

from fastapi.responses import RedirectResponse
from nicegui import Client, ui
from starlette.requests import Request
from starlette.responses import Response

from headgate.server.page.problem_box import ProblemBox
from headgate.server.page.visit import Visit

_LINKS = (("Overview", "/"), ("New", "/new"), ("Decisions", "/decisions"))
_THEMES = ("system", "light", "dark")
_CHOSEN = {"system": None, "light": False, "dark": True}


def enter(request: Request, client: Client) -> Visit | Response:
    """Begin a page: a visit, or the way to the form for those who have to sign in."""
    visit = Visit(request, client)
    if visit.caller is None:
        return RedirectResponse(f"/sign-in?next={quote(request.url.path)}", 303)
    return visit


@contextmanager
def frame(visit: Visit, title: str, here: str) -> Iterator[None]:
    """The page around its content. `here` is the link that leads to it."""
    ui.page_title(f"{title} – Headgate")
    ui.add_head_html('<link rel="stylesheet" href="/page/page.css"><script src="/page/theme.js"></script>')
    theme = ui.dark_mode(_CHOSEN.get(visit.chosen_theme))
    ui.on("theme", visit.theme_changed)
    ui.on("hidden", visit.hidden_changed)
    with ui.element("header").classes("top"):
        _brand()
        with ui.element("nav").props('aria-label="Pages"'):
            for label, target in _LINKS:
                link = ui.link(label, target)
                if target == here:
                    link.props("aria-current=page")
        with ui.element("div").classes("top-end"):
            _theme_button(visit, theme)
            _who(visit)
    with ui.element("main").classes("page") as main:
        ui.skip_link(target=main)
        visit.trouble = ProblemBox()
        yield
    ui.context.client.on_connect(lambda: ui.run_javascript("emitEvent('theme', headgate.isDark())"))


def _brand() -> None:
    with ui.element("a").classes("brand").props('href="/" aria-label="Headgate"'):
        ui.element("img").props('src="/page/favicon.svg" alt="" width=22 height=22')
        ui.label("Headgate")


def _theme_button(visit: Visit, theme: ui.dark_mode) -> None:
    chosen = visit.chosen_theme if visit.chosen_theme in _THEMES else "system"

    def choose() -> None:
        nonlocal chosen
        chosen = _THEMES[(_THEMES.index(chosen) + 1) % len(_THEMES)]
        theme.set_value(_CHOSEN[chosen])
        name.set_text(chosen)
        button.props["aria-label"] = f"Theme: {chosen}"
        ui.run_javascript(f"headgate.choose('{chosen}')")

    button = action("", choose, quiet=True).classes("theme")
    button.props["aria-label"] = f"Theme: {chosen}"
    with button:
        ui.label("Theme: ").classes("wide")
        name = ui.label(chosen)


def _who(visit: Visit) -> None:
    caller = visit.caller
    if caller is None or caller.name == "local":
        return
    with ui.element("form").props('method="post" action="/sign-out"').classes("who"):
        ui.label(f"{caller.name} ({caller.role})")
        with ui.element("button").props("type=submit").classes("link"):
            ui.label("Sign out")


# Parts of pages ---------------------------------------------------------------------------------------------------


@contextmanager
def card(title: str, classes: str = "") -> Iterator[ui.element]:
    """A part of a page with a heading."""
    with ui.element("section").classes(f"card {classes}") as section:
        if title:
            heading(title, 2)
        yield section


def heading(text: str, level: int) -> ui.label:
    """A heading."""
    label = ui.label(text)
    label.tag = f"h{level}"
    return label


def action(text: str, act: object, *, quiet: bool = False, danger: bool = False, enabled: bool = True) -> ui.button:
    """A button."""
    button = ui.button(text, on_click=act, color=None)  # type: ignore[arg-type]
    button.props("no-caps no-wrap " + ("outline" if quiet or danger else "unelevated"))
    button.classes("danger" if danger else "quiet" if quiet else "main")
    button.set_enabled(enabled)
    return button


class Figures:
    """A row of numbers, each under its name."""

    def __init__(self, names: dict[str, str]) -> None:
        """`names`: key -> what stands above the number."""
        self._values: dict[str, ui.label] = {}
        self._notes: dict[str, ui.label] = {}
        with ui.element("dl").classes("figures"):
            for key, name in names.items():
                with ui.element("div"):
                    term = ui.label(name)
                    term.tag = "dt"
                    value = ui.label()
                    value.tag = "dd"
                    self._values[key] = value
                    self._notes[key] = ui.label().classes("note")

    def show(self, key: str, value: str, note: str = "") -> None:
        """Set a number, and what is said beneath it."""
        self._values[key].set_text(value)
        self._notes[key].set_text(note)
