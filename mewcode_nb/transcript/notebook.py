"""A session as a notebook of nbformat 4.5, written as plain JSON.

A Markdown cell for each prompt and answer, a code cell for each `run_python` call with its output
as it was stored. The exact words of a prompt are in its cell's `metadata.mewcode.prompt`. It is a
record, not a program: prompts are no `%%mewcode` cells, so running it asks no model anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from mewcode_nb.blocks import clean_json
from mewcode_nb.messages import Json, JsonObject
from mewcode_nb.session.replay import SessionState
from mewcode_nb.tools.images import IMAGE_SUFFIXES
from mewcode_nb.transcript.headings import Headings
from mewcode_nb.transcript.markdown import call_blocks, head_text, not_kept, part_text
from mewcode_nb.transcript.parts import (
    Answer,
    Call,
    Chapter,
    Other,
    Part,
    Prompt,
    Summary,
    chapters,
)
from mewcode_nb.transcript.pictures import Picture
from mewcode_nb.widgets.html import plain, visible
from mewcode_nb.widgets.markdown import inert, inert_inline

__all__ = ["notebook_text"]


def notebook_text(state: SessionState, headings: Headings, *, thinking: bool = False) -> str:
    """The notebook's JSON, as Jupyter itself writes it."""
    writer = _Writer(headings)
    writer.markdown(head_text(state, headings), {"role": "head"})
    for chapter in chapters(state.records, thinking=thinking):
        for part in chapter.parts:
            writer.part(part, chapter)
    value: JsonObject = {
        "cells": cast("Json", writer.cells),
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
            "mewcode": {"session": state.header.id if state.header else ""},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    cleaned = clean_json(value)
    return json.dumps(cleaned, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


@dataclass(slots=True)
class _Writer:
    headings: Headings
    cells: list[JsonObject] = field(default_factory=list)

    def markdown(
        self, text: str, ours: JsonObject, attachments: JsonObject | None = None
    ) -> JsonObject:
        cell = self._cell("markdown", text, ours)
        if attachments:
            cell["attachments"] = attachments
        return cell

    def part(self, part: Part, chapter: Chapter) -> None:
        words = self.headings
        match part:
            case Prompt():
                self._prompt(part, chapter)
            case Answer():
                self.markdown(part_text(part, words), {"role": "answer", "turn": chapter.number})
            case Call() if part.name == "run_python" and part.language == "python":
                self._code(part)
            case Call():
                name = words("call", name=part.name) if part.name else words("lone")
                blocks = [f"**{inert_inline(visible(name))}**", *call_blocks(part, words)]
                self.markdown("\n\n".join(blocks), {"role": "call"})
            case Summary():
                heading = f"## {words('earlier')}"
                self.markdown(f"{heading}\n\n{inert(part.text)}", {"role": "summary"})
            case Other():
                self.markdown(part_text(part, words), {"role": "other"})
            case _:
                self.markdown(part_text(part, words), {"role": "thinking"})

    def _prompt(self, part: Prompt, chapter: Chapter) -> None:
        blocks = [f"## {self.headings('prompt', number=chapter.number)}", inert(part.text)]
        attachments: JsonObject = {}
        for number, picture in enumerate(part.pictures, start=1):
            if picture.data:
                name = f"image-{number}.{IMAGE_SUFFIXES[picture.media_type]}"
                attachments[name] = {picture.media_type: picture.data}
                blocks.append(f"![{self.headings('image')}](attachment:{name})")
            else:
                blocks.append(inert_inline(not_kept(picture, self.headings)))
        ours: JsonObject = {"role": "prompt", "turn": chapter.number, "prompt": part.text}
        self.markdown("\n\n".join(blocks), ours, attachments)

    def _code(self, part: Call) -> None:
        cell = self._cell("code", part.code, {"role": "call"})
        cell["execution_count"] = None
        cell["outputs"] = cast("Json", list(self._outputs(part)))

    def _outputs(self, part: Call) -> Iterator[JsonObject]:
        if part.output is None:
            yield _stream("stderr", self.headings("nothing"))
        elif part.output:
            yield _stream("stderr" if part.is_error else "stdout", plain(part.output))
        for picture in part.pictures:
            yield self._display(picture)

    def _display(self, picture: Picture) -> JsonObject:
        named = visible(not_kept(picture, self.headings))
        data: JsonObject = {"text/plain": self.headings("image") if picture.data else named}
        if picture.data:
            data[picture.media_type] = picture.data
        return {"output_type": "display_data", "data": data, "metadata": {}}

    def _cell(self, kind: str, source: str, ours: JsonObject) -> JsonObject:
        cell: JsonObject = {
            "cell_type": kind,
            "id": f"cell-{len(self.cells) + 1}",
            "metadata": {"mewcode": ours},
            "source": source,
        }
        self.cells.append(cell)
        return cell


def _stream(name: str, text: str) -> JsonObject:
    return {"output_type": "stream", "name": name, "text": text}
