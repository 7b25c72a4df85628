"""Translate in a real browser: type, walk through the steps, look at each view, share the link."""

import re
from collections.abc import Callable

from playwright.sync_api import Browser, Page, expect

SENTENCE = "The mouse chased the cat."


def open_translate(new_page: Callable[..., Page], link: str = "", **options: object) -> Page:
    page = new_page(**options)
    page.goto(f"/translate{link}")
    expect(page.get_by_role("heading", name="How does a translation")).to_be_visible()
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    return page


def test_the_steps_are_walked_through_by_key(new_page: Callable[..., Page]) -> None:
    page = open_translate(new_page, "?text=The+mouse+chased+the+cat.")
    expect(page.get_by_role("heading", name="老鼠追猫")).to_be_visible()
    expect(page.get_by_text(re.compile("老鼠 · now chosen"))).to_be_visible()
    page.get_by_role("slider", name="Decoding step").press("ArrowRight")
    expect(page.get_by_text(re.compile("老鼠追 · now chosen"))).to_be_visible()
    page.wait_for_url("**step=3**")


def test_each_view_has_its_picture_and_the_link_restores_it(new_page: Callable[..., Page]) -> None:
    page = open_translate(new_page)
    page.get_by_label("Your sentence").fill(SENTENCE)
    expect(page.get_by_role("heading", name="老鼠追猫")).to_be_visible()
    for view, text in (
        ("alignment", "of all attention"),
        ("masks and shapes", "cross scores"),
        ("beam search", "The winner scores"),
    ):
        page.get_by_role("radio", name=view).click()
        if view != "masks and shapes":  # its text is in a table, which is drawn on a canvas
            expect(page.get_by_text(text)).to_be_visible()
    page.wait_for_url("**show=beam**")
    other = new_page()
    other.goto(page.url)
    expect(other.get_by_role("heading", name="老鼠追猫")).to_be_visible()
    expect(other.get_by_label("Your sentence")).to_have_value(SENTENCE)
    expect(other.get_by_text("The winner scores")).to_be_visible()


def test_a_typed_target_is_judged(new_page: Callable[..., Page]) -> None:
    page = open_translate(new_page)
    page.get_by_label("Target").fill("猫追老鼠。")
    expect(page.get_by_text("The whole target has log-probability")).to_be_visible()


def test_a_telephone_needs_no_sideways_scrolling(new_page: Callable[..., Page]) -> None:
    page = open_translate(new_page, viewport={"width": 390, "height": 844}, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_sentence_goes_along_from_page_to_page(new_page: Callable[..., Page]) -> None:
    page = open_translate(new_page)
    page.get_by_label("Your sentence").fill(SENTENCE)
    expect(page.get_by_role("heading", name="老鼠追猫")).to_be_visible()
    page.get_by_role("link", name="Explore").click()
    expect(page.get_by_role("heading", name="Who looks at whom?")).to_be_visible()
    expect(page.get_by_label("Your sentence")).to_have_value(SENTENCE)


def test_a_link_may_open_the_first_session_of_a_server(browser: Browser, fresh_url: str) -> None:
    page = browser.new_context().new_page()
    page.goto(f"{fresh_url}/translate?text=The+cat+chased+the+mouse.")
    expect(page.get_by_role("heading", name="猫追老鼠")).to_be_visible()
    expect(page.get_by_role("link", name="Explore")).to_be_visible()
    expect(page.get_by_role("link", name="app", exact=True)).to_have_count(0)
    page.context.close()
