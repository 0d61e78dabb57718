"""The page in a browser, used as people use it."""

from __future__ import annotations

import re
import time
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.server.page.conftest import ROOT, Looks, PageServer

pytestmark = pytest.mark.spark

SCREENSHOTS = ROOT / "out" / "screenshots"
NOTE = "<img src=x onerror=alert(1)>"
QUERIES_EACH = 4
ORDER_S = 240.0  # percentiles are those of a minute


@pytest.fixture(scope="module", autouse=True)
def classes(page_server: PageServer) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for name, priority in (("alarms", 1), ("reports", 8)):
        post(page_server, "classes", name=name, priority=priority)


@pytest.fixture(scope="module")
def load(page_server: PageServer) -> None:
    """A stream that never ends, and two classes of queries that together want more than there is."""
    columns = {"symbol": "choice OMV VOE EBS", "price": "uniform 0 100"}
    source = {"kind": "feeder", "rate": 500, "seed": 1, "values": columns}
    post(page_server, "streams", name="ticks", schema="symbol STRING, price DOUBLE", source=source)
    for name in ("alarms", "reports"):
        for at in range(QUERIES_EACH):
            cql = f"SELECT symbol, round(price * {at + 1}, 2) AS price FROM ticks WHERE price > {20 + at}"
            post(page_server, "queries", name=f"{name[:-1]}{at}", cql=cql, **{"class": name})
    spread = (
        "RSTREAM(SELECT symbol, max(price) AS high, min(price) AS low, count(*) AS ticks "
        "FROM ticks [RANGE 2 SECONDS SLIDE 1 SECOND] WHERE price > 5 GROUP BY symbol HAVING count(*) > 10)"
    )
    promise = {"latency": {"priority": "must", "points": [[0, 2.0], [300, 2.0], [300, 1.0], [900, 1.0]]}}
    post(page_server, "queries", name="spread", cql=spread, qos=promise, **{"class": "reports"})


def post(server: PageServer, what: str, **body: Any) -> None:
    answer = server.api.post(f"/v1/{what}", json=body, params={"force": True} if what == "queries" else None)
    assert answer.status_code == 201, answer.text


def type_cql(page: Page, text: str) -> None:
    page.locator(".cm-content").first.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_a_user_registers_corrects_an_error_and_sees_results(looks: Looks, page_server: PageServer) -> None:
    page = looks.window(page_server.writer)
    page.get_by_role("link", name="New").click()
    page.get_by_label("Name of the stream").fill("trades")
    page.get_by_label("Columns").fill("symbol STRING, price DOUBLE")
    page.get_by_role("button", name="Register stream").click()
    expect(page.get_by_text("Stream trades is registered.")).to_be_visible()

    page.get_by_label("Name of the query").fill("large")
    type_cql(page, "SELECT symbol,\n  prise\nFROM trades")
    expect(page.locator(".cql .wrong").first).to_have_text("prise")
    problem = page.get_by_role("alert").filter(has_text="there is no column 'prise'")
    expect(problem).to_contain_text("line 2, character 3")
    expect(problem).to_contain_text("did you mean 'price'?")
    expect(page.locator(".caret").first).to_contain_text("^ line 2, character 3")
    page.screenshot(path=SCREENSHOTS / "new-with-an-error.png", full_page=True)
    page.get_by_role("button", name="Register and start").click()
    expect(problem).to_be_visible()

    type_cql(page, "SELECT symbol,\n  price\nFROM trades")
    expect(page.get_by_text("Its results have the columns symbol STRING, price DOUBLE.")).to_be_visible()
    expect(problem).to_be_hidden()
    page.get_by_role("button", name="Register and start").click()
    page.locator(".done").get_by_role("link", name="large").click()

    rows = [{"symbol": NOTE, "price": 1.5}, {"symbol": "OMV", "price": 47.25}]
    assert page_server.api.post("/v1/streams/trades/rows", json=rows).status_code == 200
    results = page.get_by_role("table", name="Latest results")
    expect(results).to_contain_text("47.25")
    expect(results).to_contain_text(NOTE)  # as text
    expect(page.locator("svg.dag")).to_contain_text("trades")

    page.get_by_role("link", name="New").click()
    page.locator(".cm-content").last.click()
    page.keyboard.insert_text("SELECT max(price) AS highest FROM large")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_role("table", name="Answer")).to_contain_text("47.25")


def medians(page: Page) -> dict[str, float]:
    """The p50 of each class as the page shows it, in seconds."""
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
    found = {}
    for line in page.locator("table.classes tbody tr").all():
        value, _, unit = line.locator('td[data-label="p50"]').inner_text().partition(" ")
        if unit:
            found[line.locator("th").inner_text()] = float(value.replace(",", "")) * units[unit]
    return found


def wait_for_order(page: Page, faster: str, slower: str) -> None:
    until = time.monotonic() + ORDER_S
    while time.monotonic() < until:
        found = medians(page)
        if {faster, slower} <= found.keys() and found[faster] < found[slower]:
            return
        page.wait_for_timeout(1_000)
    pytest.fail(f"{faster} did not become faster than {slower}: {medians(page)}")


@pytest.mark.usefixtures("load")
def test_a_slider_changes_the_order_of_latencies(looks: Looks, page_server: PageServer) -> None:
    page = looks.window(page_server.writer)
    wait_for_order(page, "reports", "alarms")
    alarms = page.get_by_role("slider", name="Priority of class alarms")
    alarms.focus()
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    reports = page.get_by_role("slider", name="Priority of class reports")
    reports.focus()
    page.keyboard.press("Home")
    until = time.monotonic() + 60
    while time.monotonic() < until and _priorities(page_server) != {"alarms": 10, "reports": 1}:
        page.wait_for_timeout(200)
    assert _priorities(page_server) == {"alarms": 10, "reports": 1}
    wait_for_order(page, "alarms", "reports")


def _priorities(server: PageServer) -> dict[str, int]:
    return {name: server.api.get(f"/v1/classes/{name}").json()["section"]["priority"] for name in ("alarms", "reports")}


@pytest.mark.usefixtures("load")
def test_quality_of_service_is_edited(looks: Looks, page_server: PageServer) -> None:
    page = looks.window(page_server.writer)
    page.goto(f"{page_server.url}/query/alarm0")
    page.get_by_role("button", name="Promise a latency").click()
    page.get_by_label("Expected latency").first.fill("0.25")
    page.get_by_label("Expected latency").last.fill("0.5")
    page.get_by_label("To second").fill("30")
    page.get_by_role("button", name="Add interval").click()
    expect(page.get_by_label("To second")).to_have_count(2)
    page.get_by_label("To second").last.fill("900")
    page.wait_for_timeout(500)
    page.get_by_role("button", name="Save quality of service").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    points = [[0, 0.25], [30, 0.5], [30, 0.5], [900, 0.5]]
    section = page_server.api.get("/v1/queries/alarm0").json()["section"]
    assert section["qos"] == {"latency": {"priority": "must", "points": points}}

    page.get_by_label("To second").first.fill("2000")
    page.wait_for_timeout(500)
    page.get_by_role("button", name="Save quality of service").click()
    expect(page.get_by_role("alert").filter(has_text="in order of time")).to_be_visible()


@pytest.mark.usefixtures("load")
def test_a_query_is_stopped_started_moved_and_removed(looks: Looks, page_server: PageServer) -> None:
    post(page_server, "queries", name="passing", cql="SELECT price FROM ticks WHERE price > 99", **{"class": "reports"})
    page = looks.window(page_server.writer)
    page.goto(f"{page_server.url}/query/passing")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".state")).to_have_text("stopped")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".state")).to_have_text("running")
    page.get_by_label("Class").click()
    page.get_by_role("option", name="alarms").click()
    page.get_by_role("button", name="Save settings").click()
    expect(page.get_by_text("class alarms")).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    page.get_by_role("heading", name="Overview").wait_for()
    assert page_server.api.get("/v1/queries/passing").status_code == 404


@pytest.mark.usefixtures("load")
def test_queries_are_searched_and_sorted(looks: Looks, page_server: PageServer) -> None:
    page = looks.window(page_server.reader)
    table = page.get_by_role("table", name="Queries")
    expect(table.get_by_role("link", name="report0")).to_be_visible()
    page.get_by_label("Search").fill("ALARM")
    expect(table.get_by_role("link")).to_have_count(QUERIES_EACH)
    table.get_by_role("button", name="Query").click()
    expect(table.get_by_role("link").first).to_have_text(f"alarm{QUERIES_EACH - 1}")
    expect(table.locator("th").first).to_have_attribute("aria-sort", "descending")
    table.get_by_role("link", name="alarm1").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("alarm1")


@pytest.mark.usefixtures("load")
def test_who_may_only_read_changes_nothing(looks: Looks, page_server: PageServer) -> None:
    page = looks.window(page_server.reader)
    expect(page.get_by_role("slider", name="Priority of class alarms")).to_be_disabled()
    page.goto(f"{page_server.url}/query/report0")
    for name in ("Stop", "Remove", "Save settings", "Save quality of service"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    page.goto(f"{page_server.url}/new")
    for name in ("Register stream", "Register class", "Register and start"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()


@pytest.mark.usefixtures("load")
def test_names_of_queries_that_do_not_exist_are_text(looks: Looks, page_server: PageServer) -> None:
    page = looks.window(page_server.writer)
    page.goto(f"{page_server.url}/query/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    expect(page.get_by_role("alert")).to_contain_text(f"there is no '{NOTE}'")
    assert any("404" in text for text in looks.wrong)  # the browser writes this down itself
    looks.wrong.clear()
    page.goto(f"{page_server.url}/new")
    page.get_by_label("Name of the query").fill(NOTE)
    type_cql(page, f"SELECT '{NOTE}' AS x FROM ticks")
    expect(page.get_by_role("alert").filter(has_text="is not a name")).to_contain_text(NOTE)
    assert page.locator("img[src=x]").count() == 0


def test_without_a_token_there_is_only_the_form(page_server: PageServer) -> None:
    for path in ("/", "/new", "/decisions", "/query/report0"):
        answer = httpx.get(page_server.url + path)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={path}")
    for path in ("/v1/nothing", "/v1/queries/a/b/c"):
        answer = page_server.api.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


def test_changes_are_in_the_audit_trail(looks: Looks, page_server: PageServer) -> None:
    page = looks.window(page_server.writer)
    page.goto(f"{page_server.url}/new")
    page.get_by_label("Name of the class").fill("audited")
    page.get_by_role("button", name="Register class").click()
    expect(page.get_by_text("Class audited is registered.")).to_be_visible()
    headers = {"Authorization": f"Bearer {page_server.admin}"}
    trail = page_server.api.get("/v1/audit", headers=headers).json()
    found = [(one["who"], one["outcome"]) for one in trail if one["what"].startswith("page: classes.audited: register")]
    assert found == [("the-writer", "done")]


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True), (360, False)])
@pytest.mark.usefixtures("load")
def test_pages_as_pictures(looks: Looks, page_server: PageServer, width: int, dark: bool) -> None:
    """For people to look at. What can be asserted: nothing is too wide, and the theme is that of the system."""
    page = looks.window(page_server.writer, width=width, dark=dark)
    for name, path in (("overview", "/"), ("query", "/query/spread"), ("new", "/new"), ("decisions", "/decisions")):
        page.goto(page_server.url + path)
        page.get_by_role("heading", level=1).wait_for()
        page.wait_for_timeout(3_000)  # charts are drawn
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert re.search(r"\bbody--dark\b", page.evaluate("document.body.className")) is not None or not dark
        theme = "dark" if dark else "light"
        page.screenshot(path=SCREENSHOTS / f"{name}-{theme}-{width}.png", full_page=True)


@pytest.mark.usefixtures("load")
def test_everything_can_be_reached_with_the_keyboard(looks: Looks, page_server: PageServer) -> None:
    page = looks.window(page_server.writer)
    page.get_by_role("slider", name="Priority of class alarms").wait_for()
    reached = []
    for _ in range(14):
        page.keyboard.press("Tab")
        said = "(e => e.getAttribute('aria-label') || e.innerText)(document.activeElement)"
        reached.append(str(page.evaluate(said)).strip())
    for name in ("Overview", "New", "Decisions", "Priority of class alarms"):
        assert name in reached


def test_the_theme_is_kept(looks: Looks, page_server: PageServer) -> None:
    page = looks.window(page_server.reader)
    button = page.get_by_role("button", name="Theme:")
    button.click()
    button.click()
    expect(button).to_contain_text("dark")
    page.reload()
    expect(page.locator("body")).to_have_class(re.compile("body--dark"))
