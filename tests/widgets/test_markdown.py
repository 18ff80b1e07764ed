from __future__ import annotations

import time
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from nbconvert.filters.markdown_mistune import markdown2html_mistune

from mewcode_nb.widgets.markdown import fenced, inert, inert_inline

TAGS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "em", "strong", "code", "pre", "ul", "ol", "li"}
TAGS |= {"blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "a", "del", "s"}
TAGS |= {"span", "div", "input", "dl", "dt", "dd", "sup", "section"}
ATTRIBUTES = {"href", "title", "class", "start", "align", "style", "type", "id"}
ATTRIBUTES |= {"checked", "disabled"}

DOLLAR = "<span>&#36;</span>"
PAYLOADS = [
    "<script>window.pwn=1</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)></svg>",
    "<iframe srcdoc='<script>parent.pwn=1</script>'></iframe>",
    "<button data-commandlinker-command='notebook:insert-cell-below'>x</button>",
    "<style>body{display:none}</style>",
    "<form action='http://127.0.0.1:9/x'><input name=q></form>",
    "<b onmouseover=alert(1)>x</b>",
    "<details open ontoggle=alert(1)>",
    "<!-- <img src=x onerror=alert(1)> -->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?php <img src=x onerror=alert(1)> ?>",
    "<!DOCTYPE html><img src=x onerror=alert(1)>",
    "<math><mtext></mtext><img src=x onerror=alert(1)></math>",
    "<a href='javascript:alert(1)'>x</a>",
    "<div\nonclick=alert(1)>\n\nx</div>",
    "</code><img src=x onerror=alert(1)>",
    "</pre><img src=x onerror=alert(1)>",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\tscript:alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](javascript&colon;alert(1))",
    "[a](javascript\\:alert(1))",
    "[a](<javascript:alert(1)>)",
    "[a](vbscript:x)",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](file:///etc/passwd)",
    "[a](//127.0.0.1:9/x)",
    "[a]( javascript:alert(1) 'title')",
    "[a][r]\n\n[r]: javascript:alert(1)",
    "[r]\n\n[r]:\n javascript:alert(1)",
    '[a][r]\n\n[r]: http://ok "t\\" onmouseover=alert(1)"',
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "![a](http://127.0.0.1:9/?d=KEY)",
    "!![a](http://127.0.0.1:9/x)",
    "![a]( <http://127.0.0.1:9/x> 'b')",
    "![a][r]\n\n[r]: http://127.0.0.1:9/x",
    "![r]\n\n[r]: http://127.0.0.1:9/x",
    "![](http://127.0.0.1:9/x)",
    "![a\nb](http://127.0.0.1:9/x)",
    "[![a](http://127.0.0.1:9/x)](javascript:alert(1))",
    "\\![a](http://127.0.0.1:9/x)",
    "`a` ``![b](http://127.0.0.1:9/x)` c``",
    "http://a.b`<img src=x onerror=alert(1)>`",
    "`a\nb` `<img src=x onerror=alert(1)>`",
    "| `a | <img src=x onerror=alert(1)>` |\n|---|---|\n| `b | <script>` |",
    "- ```\n  $\n  ```\n  $\n  ```\n  <img src=x onerror=alert(1)>\n  ```",
    "$$\n\n```\n$$\n<img src=x onerror=alert(1)>\n```",
    "$$a\\$$ x\n\n```\n$$\n<img src=x onerror=alert(1)>\n```",
    "\\$ $$b\nc$$\n\n```\n$$\n<img src=x onerror=alert(1)>\n```",
    "\\(x\\)\\(x\\)\n\n```\n$$\n<img src=x onerror=alert(1)>\n```",
    "a $$b|\n|c$$\n\n```\n$$\n<img src=x onerror=alert(1)>\n```",
    "\\begin{a}\n\n```\n\\end{a}\n<img src=x onerror=alert(1)>\n```",
    '[x](http://a/\\("onmouseover="alert(1)\\)',
    "[x](http://a/\\('onmouseover='alert(1)\\)",
    "\\[\n<img src=x onerror=alert(1)>\n\\]",
    "\\(<img src=x onerror=alert(1)>\\) \\(![a](http://127.0.0.1:9/x)\\)",
    "\\([a](javascript:alert(1))\\)",
    "$\n\n\\($<img src=x onerror=alert(1)>\\)",
    '[x](http://a/$"onmouseover="alert(1)$)',
    'http://a/$"onmouseover="alert(1)$',
    "> ```\n> <img src=x onerror=alert(1)>\n```\n<img src=x onerror=alert(1)>\n```",
    "1. a\n\n        <img src=x onerror=alert(1)>\n\n2. b",
    "```\n<img src=x onerror=alert(1)>",
    "~~~ `\n<img src=x onerror=alert(1)>\n~~~",
    "``` a`b\n<img src=x onerror=alert(1)>\n```",
    "    ```\n<img src=x onerror=alert(1)>\n    ```",
    "```\n\u2028```\n<img src=x onerror=alert(1)>\n```",
    "[\n\n```\n\\[r]: javascript:alert(1)\n```\n\n[r]",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "# <script>alert(1)</script>\n<script>alert(1)</script>\n===",
]


class _Audit(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.bad: list[object] = []

    def handle_starttag(self, tag, attrs):
        if tag not in TAGS:
            self.bad.append(tag)
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.bad.append((tag, name, value))
            elif name == "href":
                self._link(value or "")

    def _link(self, value):
        scheme = value.split("/")[0].split("?")[0].split("#")[0]
        known = value.lower().startswith(("http://", "https://", "mailto:"))
        if not known and (":" in scheme or value.startswith("//")):
            self.bad.append(value)

    def handle_comment(self, data):
        self.bad.append(("comment", data))

    def handle_decl(self, decl):
        self.bad.append(("declaration", decl))

    def unknown_decl(self, data):
        self.bad.append(("declaration", data))

    def handle_pi(self, data):
        self.bad.append(("instruction", data))


def audit(html):
    parser = _Audit()
    parser.feed(html)
    parser.close()
    return parser.bad


def dialects():
    common = MarkdownIt("commonmark", {"html": True})
    github = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    return (common.render, github.render)


def words_of(html):
    class Words(HTMLParser):
        text = ""

        def handle_data(self, data):
            self.text += data

    parser = Words(convert_charrefs=True)
    parser.feed(html)
    return "".join(parser.text.split())


FRAMES = ("{}", "x {} y", "> {}", "- {}", "| a |\n|---|\n| {} |", "**{}**")


@pytest.mark.parametrize("payload", PAYLOADS)
def test_n_05_w_06_payloads_are_inert_in_every_parser(payload):
    for frame in FRAMES:
        out = inert(frame.replace("{}", payload))
        for render in dialects():
            assert audit(render(out)) == []


@pytest.mark.parametrize("payload", PAYLOADS)
def test_n_05_payloads_are_inert_in_an_exported_notebook(payload):
    assert audit(markdown2html_mistune(inert(payload))) == []


PARTS = [
    *PAYLOADS,
    *("`", "``", "```", "~~~", "````", "```html\n", "\n```\n", "    ", "\t", "- ", "1. ", "> "),
    *("$", "$$", "{", "}", '"', "'", "&", "<", "\\", "|", "*", "_", "~", "!", "[", "]", "(", ")"),
    *("](", "]:", "\n", "\n\n", "  ", " ", "a", "# ", ": d", "\r", "\x0b", "@@0@@", "|---|"),
    *(
        "\\(",
        "\\)",
        "\\[",
        "\\]",
        "\\[x\\]\n",
        "\\(x\\)",
        "\\\\(",
        "\\\\)",
        "\\begin{a}",
        "\\end{a}",
    ),
]


@settings(max_examples=250, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=25).map("".join))
@example("\u2028")
def test_n_05_any_mixture_of_markup_is_inert(text):
    out = inert(text)
    for render in dialects():
        assert audit(render(out)) == []


@settings(max_examples=100, deadline=None)
@given(st.text())
def test_any_text_at_all_is_inert_and_stays_a_text(text):
    for render in dialects():
        assert audit(render(inert(text))) == []


GOOD = """# Title

Some **bold**, *emphasis*, `code`, a [link](https://example.org/a_b?x=1) and $x^2$.

- one
- two
  1. nested
  2. more

| a | b |
|---|---|
| 1 | 2 |

> quoted

```python
if a < b and c & d:
    print("<b>")
```

$$
\\sum_i x_i
$$

done [here](docs/page.md#part) — mail [me](mailto:a@b.org)
"""


def test_ordinary_markdown_is_left_as_it_is():
    assert inert(GOOD) == GOOD


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("![plot](http://x/p.png)", "[plot](http://x/p.png)"),
        ("![](http://x/p.png)", "[image](http://x/p.png)"),
        ("a < b && c", "a &lt; b &amp;&amp; c"),
        ("`List<int>`", "<code>List&lt;int&gt;</code>"),
        ("`a < b`", "`a < b`"),
        ("<https://example.org/a>", "https://example.org/a"),
        ("[a](http://x/?a=1&b=2)", "[a](http://x/?a=1&amp;b=2)"),
        ('[a](http://x "a title")', '[a](http://x "a title")'),
        ("$a<b$", "$a\\lt b$"),
        ("costs $5 and $6", f"costs {DOLLAR}5 and {DOLLAR}6"),
        (r"costs \$5 and \$6", f"costs {DOLLAR}5 and {DOLLAR}6"),
        ("$5 and $6", f"{DOLLAR}5 and {DOLLAR}6"),
        ("$x^2$", "$x^2$"),
        ("costs 5$", f"costs 5{DOLLAR}"),
        ("$ 5", f"{DOLLAR} 5"),
        ("a $x$ and $y$", "a $x$ and $y$"),
        ("$5, $x$", f"{DOLLAR}5, $x$"),
        (r"$a\$ b $c$", f"{DOLLAR}a{DOLLAR} b $c$"),
        ("$$x}$$", f"{DOLLAR}{DOLLAR}x&#125;{DOLLAR}{DOLLAR}"),
        ("`$a $b`", "<code>&#36;a &#36;b</code>"),
        (r"so \(a^2\), \( \frac{a}{b} \).", r"so $a^2$, $\frac{a}{b}$."),
        (r"\(a < b\)", r"$a \lt  b$"),
        ("\\[\n x^2\n\\]", "$$\n x^2\n$$"),
        ("- a\n\n  \\[x\\]", "- a\n\n  $$x$$"),
        (r"see \[1\] here", "see &#91;1&#93; here"),
        (r"\(f'(x)\)", "&#40;f'(x)&#41;"),
        ("\\(a\nb\\)", "&#40;a\nb&#41;"),
        (r"\(a\)\(b\)", "&#40;a&#41;$b$"),
        (r"\(a\)$b$", "&#40;a&#41;$b$"),
        (r"$a$\(b\)", "$a$&#40;b&#41;"),
        ("where $$\nx|y\n$$", "where $$\nx|y\n$$"),
        (r"\(a\)5", "&#40;a&#41;5"),
        (r"\(a{\)", "&#40;a&#123;&#41;"),
        (r"\(a\\\)", "&#40;a&#92;&#92;&#41;"),
        (r"`\(a\)`", r"<code>&#92;&#40;a&#92;&#41;</code>"),
        ("```mermaid\nA-->B\n```", "```text\nA-->B\n```"),
        ("    code\n", "```\ncode\n```\n"),
        ("- ```python\n  x<y\n  ```", "- <pre><code>x&lt;y</code></pre>\n"),
        ("- a\n  ```python\n  x = 1\n  ```", "- a\n  ```python\n  x = 1\n  ```"),
        ("text\n```\nopen", "text\n\n```\nopen\n```"),
        ("x\x1b[31m", "x␛&#91;31m"),
        ("", ""),
    ],
)
def test_what_is_changed_and_how(text, expected):
    assert inert(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a <b> c & d &lt; e",
        "`x` <i>",
        "*a* `b<c>` [d](javascript:e)",
        "1 < 2 > 0",
        'say "x" $5',
    ],
)
def test_the_words_a_reader_sees_are_the_words_that_were_written(text):
    plain = MarkdownIt("commonmark", {"html": False})
    # Entities are shown as they were typed, and a defused link shows its address.
    expected = words_of(plain.render(text.replace("&", "&amp;")))
    assert words_of(dialects()[0](inert(text))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "`" * 50_000,
        "[" * 50_000,
        "$a" * 25_000,
        "a`b``" * 10_000,
        "\\begin{a}" * 3_000,
        "](" * 25_000,
        "\\(" * 25_000,
        "\\(a" * 25_000,
        "\\(" + "a" * 50_000,
        "\\[a\n" * 10_000,
        "\\[" + "a \n" * 10_000,
        " " * 50_000 + "x",
    ],
)
def test_long_hostile_text_takes_no_quadratic_time(text):
    started = time.process_time()
    inert(text)
    assert time.process_time() - started < 5


def test_a_fence_cannot_be_closed_from_inside():
    assert fenced("a\n```\n<b>", "diff") == "````diff\na\n```\n<b>\n````"


def test_a_line_of_words_holds_no_markup():
    line = inert_inline("**a** <b> [c](http://d)\n`e`")
    assert MarkdownIt("commonmark", {"html": True}).render(line) == (
        "<p>**a** &lt;b&gt; [c](http://d) `e`</p>\n"
    )


def test_dollars_in_a_line_of_words_cannot_pair_to_a_formula():
    assert inert_inline("$A $B") == f"{DOLLAR}A {DOLLAR}B"
