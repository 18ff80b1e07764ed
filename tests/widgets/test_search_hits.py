from __future__ import annotations

from mewcode_nb.session.info import SessionInfo
from mewcode_nb.session.query import Match
from mewcode_nb.session.search import Hit
from mewcode_nb.widgets.search_hits import hits_bundle

INFO = SessionInfo(id="20261201-101010-abcd", title="Rain <b>\x1b")


def test_each_hit_shows_words_session_and_what_to_type():
    hits = [
        Hit(INFO, Match("so <b>wet</b> & wet", ((6, 9),)), "m4", 4, ts=1_000.0),
        Hit(INFO, Match("wet title", ((0, 3), (1, 2))), ts=1_000.0),
    ]
    bundle = hits_bundle(hits, ["a <hint>"], now=1_000.0 + 7_200, language="en")
    assert bundle["text/plain"].splitlines() == [
        "20261201-101010-abcd --at 4  2 h ago  Rain <b>␛",
        "    so <b>wet</b> & wet",
        "20261201-101010-abcd  2 h ago  Rain <b>␛",
        "    wet title",
        "a <hint>",
    ]
    page = bundle["text/html"]
    assert "so &lt;b&gt;<b>wet</b>&lt;/b&gt; &amp; wet" in page
    assert "<b>wet</b> title" in page
    assert "a &lt;hint&gt;" in page
    assert "<b>wet" not in bundle["text/markdown"]
    assert "2 小时前" in hits_bundle(hits, [], now=8_200.0, language="zh")["text/plain"]
