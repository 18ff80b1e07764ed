from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from mewcode_nb.messages import text_block, tool_result
from mewcode_nb.session.records import MetaRecord, SessionRecord
from mewcode_nb.transcript.export import export

PAYLOADS = [
    "<script>window.pwn=1</script>",
    "</pre></code></details><script>window.pwn=1</script>",
    "</title></style><script>window.pwn=1</script>",
    '"><img src=x onerror=alert(1)>',
    "<img src=http://127.0.0.1:9/x>",
    "<svg onload=alert(1)>",
    "<iframe srcdoc='<script>1</script>'></iframe>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9'>",
    "<link rel=stylesheet href=http://127.0.0.1:9/x>",
    "<style>@import 'http://127.0.0.1:9'</style>",
    "<base href=http://127.0.0.1:9>",
    "<form action=http://127.0.0.1:9><input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<!--><img src=x onerror=alert(1)>-->",
    "[a](javascript:alert(1))",
    "[a](JaVa\tScRiPt:alert(1))",
    "[a](data:text/html,<script>1</script>)",
    "[a](vbscript:x) [b](file:///etc/passwd)",
    "[a][r]\n\n[r]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "![a](http://127.0.0.1:9/?d=KEY)",
    "![a][r]\n\n[r]: http://127.0.0.1:9/x",
    "![a](attachment:image-1.png)",
    "```\n<img src=x onerror=alert(1)>",
    "~~~\n```\n<script>1</script>",
    "````html\n<script>1</script>\n````",
    "$$\n\n```\n$$\n<img src=x onerror=alert(1)>\n```",
    '$"onmouseover="alert(1)$',
    "\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b2J",
    "safe\u202e\u2066gnp.exe\u2069\u202c",
    "\ud83d lone \udc00",
    "zero\x00byte \u2028 \u2029 \x85 \x7f \U000e0041",
]
TAGS = {"html", "head", "meta", "title", "style", "body", "main", "dl", "dt", "dd", "div", "p"}
TAGS |= {"h1", "h2", "h3", "h4", "h5", "h6", "details", "summary", "pre", "code", "em", "strong"}
TAGS |= {"ul", "ol", "li", "blockquote", "hr", "br", "a", "span"}
TAGS |= {"table", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "open", "href", "start"}
LINKS = re.compile(r"https?://|mailto:|#|[^:]*\Z", re.IGNORECASE)
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


class _Audit(HTMLParser):
    def __init__(self):
        super().__init__()
        self.bad = []

    def handle_starttag(self, tag, attrs):
        if tag not in TAGS:
            self.bad.append(tag)
        for name, value in attrs:
            if name not in ATTRIBUTES or (name == "href" and not LINKS.match(value)):
                self.bad.append((tag, name, value))
            if name == "http-equiv" and value != "Content-Security-Policy":
                self.bad.append((tag, name, value))


def _audited(text):
    audit = _Audit()
    audit.feed(text)
    audit.close()
    return audit.bad


def _rendered(markdown):
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)


@pytest.fixture(params=PAYLOADS, ids=range(len(PAYLOADS)))
def payload(request):
    return request.param


@pytest.fixture
def hostile(make_state, message, payload):
    """A session that carries the payload in every place text can be."""
    call = {"type": "tool_use", "id": "t1", "name": payload, "input": {"code": payload}}
    other = {"type": "tool_use", "id": "t2", "name": "shell", "input": {payload: [payload]}}
    run = {"type": "tool_use", "id": "t3", "name": "run_python", "input": {"code": payload}}
    thought = {"type": "thinking", "thinking": payload, "signature": "c2ln"}
    odd = {"type": payload, "text": payload}
    picture = {
        "type": "image",
        "source": {"type": "base64", "media_type": payload, "data": payload},
    }
    results = [
        tool_result("t1", payload),
        tool_result("t2", [text_block(payload), picture], is_error=True),
        tool_result("t3", payload),
        tool_result(payload, payload),
    ]
    return make_state(
        SessionRecord(1.0, payload, notebook=payload, project=payload, model=payload),
        MetaRecord(1.0, {"title": payload}),
        message("m0", "user", [text_block(payload)], 1, "summary"),
        message("m1", "user", [{"type": "text", "text": payload}, picture], 1),
        message("m2", "assistant", [thought, text_block(payload), odd, call, other, run], 1),
        message("m3", "user", results, 1, "tool"),
        message("m4", "assistant", [{"type": "text", "text": payload}], 1, incomplete=True),
    )


def test_l_05_html_runs_and_fetches_nothing(hostile):
    page = export(hostile, "html", "en", thinking=True).decode()
    assert _audited(page) == []
    assert not HIDDEN.search(page)


def test_l_05_markdown_runs_and_fetches_nothing_in_a_viewer_that_allows_html(hostile):
    text = export(hostile, "md", "en", thinking=True).decode()
    assert _audited(_rendered(text)) == []
    assert not HIDDEN.search(text)


def test_l_05_notebook_cells_run_and_fetch_nothing_when_shown(hostile):
    import nbformat

    book = json.loads(export(hostile, "ipynb", "en", thinking=True))
    nbformat.validate(nbformat.from_dict(book))
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            assert _audited(_rendered(cell["source"])) == []
            assert not HIDDEN.search(cell["source"])
        for output in cell.get("outputs", ()):
            assert output["output_type"] in {"stream", "display_data"}
            assert set(output.get("data", {"text/plain": ""})) == {"text/plain"}
            assert not HIDDEN.search(output.get("text", ""))


def test_l_05_jsonl_shows_a_terminal_only_printable_text(hostile, payload, tmp_path):
    data = export(hostile, "jsonl", "en").decode()
    lines = data.split("\n")
    assert all(line.isprintable() for line in lines)
    loaded = [json.loads(line) for line in lines if line]
    said = [
        block["text"] for line in loaded for block in line.get("content", ()) if "text" in block
    ]
    assert payload.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") in said
