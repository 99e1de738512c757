"""The site in a real browser: at a desk and on a phone, light and dark, by keyboard, on paper."""

import pytest
from browser import DESKTOP, PHONE, Browser, served
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

PAGES = {
    "home": "index.html",
    "chapter": "chapters/02_first_loop.html",
    "exercise": "exercises/01_grad/argnums.html",
    "reference": "api.html",
    "architecture": "architecture.html",
    "source": "source/core.html",
}


@pytest.fixture(scope="module")
def browser():
    """A browser for all tests of this file."""
    browser = Browser()
    yield browser
    browser.driver.quit()


@pytest.fixture(scope="module")
def address(site):
    """Where the site is served, two folders below the root of its host."""
    with served(site.parent.parent) as root:
        yield f"{root}{site.relative_to(site.parent.parent).as_posix()}/"


# --- Every kind of page ---------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_pages_look_right(browser, address, page, size, scheme):
    browser.show_as(size, scheme)
    browser.open(address + page)
    shown = browser.run("return document.body.dataset.mdColorScheme")
    assert shown == {"light": "default", "dark": "slate"}[scheme]
    assert browser.errors() == []
    assert [url for url in browser.requests() if not url.startswith((address, "data:"))] == []
    assert browser.excess_width() <= 0
    assert browser.violations() == []


def test_no_page_is_wider_than_a_phone(browser, site, pages):
    browser.show_as(PHONE)
    wide = {}
    for page in pages:
        browser.driver.get((site / page).as_uri())
        if browser.excess_width() > 0:
            wide[page] = browser.excess_width()
    assert wide == {}
    assert browser.errors() == []


def test_text_and_code_have_fonts_of_our_own(browser, address):
    browser.show_as(DESKTOP)
    browser.open(address + PAGES["exercise"])
    loaded = """const loaded = [...document.fonts].filter(font => font.status == "loaded");
        return loaded.length >= 2 && loaded.map(font => font.family.replaceAll('"', ""))"""
    assert set(browser.wait_for(loaded)) == {"Inter", "JetBrains Mono"}


# --- Formulas -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", ["server", "disk"])
def test_every_formula_is_set(browser, address, site, pages, place, scheme):
    """For the eye, in the colour of the text, and as MathML for those who listen."""
    broken = """return [...document.querySelectorAll(".arithmatex")].filter(place =>
        !place.querySelector(".katex-mathml math") || place.querySelector(".katex-error")
        || !place.querySelector(".katex-html[aria-hidden=true]")
        || getComputedStyle(place.querySelector(".katex")).color
            != getComputedStyle(place.parentElement).color
    ).map(place => place.textContent)"""
    with_formulas = [page for page, content in pages.items() if "arithmatex" in content.classes]
    assert PAGES["chapter"] in with_formulas
    browser.show_as(DESKTOP, scheme)
    for page in with_formulas:
        browser.open((address if place == "server" else site.as_uri() + "/") + page)
        assert browser.run(broken) == [], page
        assert browser.errors() == [], page


def test_only_pages_with_formulas_load_katex(browser, address):
    for page, loads in [(PAGES["chapter"], True), (PAGES["exercise"], False)]:
        browser.open(address + page)
        assert any("/katex" in url for url in browser.requests()) == loads


# --- What a reader does ---------------------------------------------------------------------------

FOUND = """const links = document.querySelectorAll(".md-search-result__link");
    return links.length && [...links].map(link => link.href)"""


@pytest.mark.parametrize("place", ["server", "disk"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_search_finds_a_page(browser, address, site, place, size):
    root = address if place == "server" else site.as_uri() + "/"
    browser.show_as(size)
    browser.open(root + PAGES["exercise"])
    if size == PHONE:
        browser.driver.find_element(
            By.CSS_SELECTOR, "label[for=__search].md-header__button"
        ).click()
    query = browser.driver.find_element(By.CSS_SELECTOR, "input[name=query]")
    browser.wait_for("return document.querySelector('input[name=query]').offsetWidth > 0")
    query.send_keys("per-example gradient vmap")
    links = browser.wait_for(FOUND)
    assert any(link.startswith(f"{root}chapters/06_vmap.html") for link in links)
    browser.run("document.querySelector('.md-search-result__link').click()")
    browser.wait_for("return !location.href.includes('argnums')")
    assert browser.run("return document.querySelectorAll('mark').length") > 0
    assert browser.errors() == []


def test_a_click_makes_it_dark_and_the_next_page_remembers(browser, address):
    scheme = "return document.body.dataset.mdColorScheme"
    browser.show_as(DESKTOP)
    browser.open(address)
    assert browser.run(scheme) == "default"
    click(browser, "label[title=Dark]")
    assert browser.run(scheme) == "slate"
    browser.driver.get(address + PAGES["chapter"])
    assert browser.run(scheme) == "slate"
    click(browser, "label[title=Light]")
    assert browser.run(scheme) == "default"


def test_the_keyboard_skips_to_the_text_and_shows_where_it_is(browser, address):
    browser.show_as(DESKTOP)
    browser.open(address + PAGES["chapter"])
    press(browser, Keys.TAB)
    style = "getComputedStyle(document.activeElement)"
    assert browser.run("return document.activeElement.textContent.trim()") == "Skip to content"
    assert browser.run(f"return {style}.outlineStyle") != "none"
    browser.wait_for(f"return {style}.opacity == 1")
    press(browser, Keys.ENTER)
    browser.wait_for("return location.hash")
    press(browser, Keys.TAB)
    assert browser.run("return document.querySelector('article').contains(document.activeElement)")


def test_the_keyboard_scrolls_what_is_wider_than_the_page(browser, address):
    browser.show_as(PHONE)
    for page, kind in [
        ("index.html", "pre > code"),
        ("primitives.html", ".md-typeset__scrollwrap"),
    ]:
        browser.open(address + page)
        assert browser.wait_for(f"return document.querySelectorAll('{kind}[tabindex]').length")
    browser.show_as((240, 800))
    browser.open(address + PAGES["chapter"])
    assert browser.wait_for("return document.querySelectorAll('.arithmatex[tabindex]').length")
    assert browser.violations() == []


def test_a_phone_opens_the_menu(browser, address):
    browser.show_as(PHONE)
    browser.open(address + PAGES["chapter"])
    click(browser, ".md-header__button[for=__drawer]")
    left = "return document.querySelector('.md-sidebar--primary').getBoundingClientRect().left"
    browser.wait_for(f"{left} == 0")


def click(browser, selector):
    """Clicks on an element."""
    browser.driver.find_element(By.CSS_SELECTOR, selector).click()


def press(browser, key):
    """Presses a key wherever the focus is."""
    browser.driver.switch_to.active_element.send_keys(key)


# --- Without scripts, and on paper ----------------------------------------------------------------


def test_pages_read_well_without_scripts(address):
    browser = Browser(scripts=False)
    try:
        for size in (DESKTOP, PHONE):
            browser.show_as(size)
            browser.driver.get(address + PAGES["chapter"])
            text = browser.driver.find_element(By.TAG_NAME, "article").text
            assert "The first loop" in text and "import tinyjax as jax" in text
            assert r"\theta - \eta \, \nabla L(\theta)" in text
            offered = browser.driver.find_elements(By.CSS_SELECTOR, ".md-search, .md-header form")
            assert not any(element.is_displayed() for element in offered)
            assert browser.excess_width() <= 0
    finally:
        browser.driver.quit()


def test_paper_shows_what_is_folded_and_leaves_the_menus_out(browser, address):
    shown = """const box = document.querySelector(arguments[0]);
        return box.checkVisibility() && box.getBoundingClientRect().height > 0"""
    browser.show_as(DESKTOP, media="print")
    browser.open(address + PAGES["chapter"])
    assert browser.run(shown, "article details pre")
    for menu in (".md-header", ".md-tabs", ".md-sidebar", ".md-footer"):
        assert not browser.run(shown, menu)
    browser.show_as(DESKTOP)
    browser.open(address + PAGES["chapter"])
    assert not browser.run(shown, "article details pre")
