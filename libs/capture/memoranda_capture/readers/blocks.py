"""What content blocks say: text as it is, images and files as a short note in their place."""

from __future__ import annotations

from memoranda_capture.fields import compact, is_fields, is_items, object_at, text_at
from memoranda_capture.wording import binary, clean

_TEXTS = frozenset({"text", "input_text", "output_text", "summary_text"})


def words(content: object) -> str:
    """The text of a message's or result's content: a string, a list of blocks, one block, or nothing ('')."""
    if isinstance(content, str):
        return clean(content)
    if is_items(content):
        return "\n".join(filter(None, map(block_words, content)))
    return block_words(content)


def block_words(block: object) -> str:
    """The text of one block; blocks without text (thinking, references) give ''."""
    if isinstance(block, str):
        return clean(block)
    if not is_fields(block):
        return ""
    kind = text_at(block, "type")
    if kind in _TEXTS or (not kind and "text" in block):
        return clean(text_at(block, "text"))
    if kind in {"image", "document"}:
        return _file(block)
    if kind == "input_image":
        return clean(text_at(block, "image_url")) or "[image]"
    return clean(compact(block["content"])) if "content" in block else ""


def _file(block: dict[str, object]) -> str:
    source = object_at(block, "source") or block
    data = text_at(source, "data")
    media_type = text_at(source, "media_type") or text_at(source, "mimeType") or text_at(block, "type")
    if text_at(source, "type") == "text":
        return clean(data)
    return binary(media_type[:80], len(data)) if data else f"[{text_at(block, 'type')}: {clean(text_at(source, 'url'))[:200]}]"
