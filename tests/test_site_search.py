"""The search in a browser: it finds the words of the glossary, in three languages."""

import pytest
from browser import Browser, served
from selenium.webdriver.common.by import By

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

WORDS = {  # no two neighbours are in one section: what is still shown of the last one is not taken
    "gradient descent": "gradient-descent",
    "梯度": "gradient",
    "自动微分": "automatic-differentiation",
    "勾配": "gradient",
    "自動微分": "automatic-differentiation",
    "ベクトル化": "vectorization",
    "雅可比": "jacobian",  # the beginning of a word will do
    "随机种子": "seed",
    "ヤコビ": "jacobian",
    "乱数キー": "prng-key",
}
FOUND = """return [...document.querySelectorAll(".md-search-result__link")].some(
    link => link.href.includes("glossary.html") && link.hash == arguments[0])"""


@pytest.fixture(scope="module")
def home(site):
    """A browser that shows the home page."""
    browser = Browser()
    with served(site) as address:
        browser.open(address + "index.html")
        yield browser
    browser.driver.quit()


@pytest.mark.parametrize("word, anchor", WORDS.items())
def test_the_search_finds_a_word_of_the_glossary(home, word, anchor):
    query = home.driver.find_element(By.CSS_SELECTOR, "input[name=query]")
    query.clear()
    query.send_keys(word)
    home.wait_for(FOUND.replace("arguments[0]", f"'#{anchor}'"))
