"""Every guarantee of tests/guarantees.py is held by a test."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

LIST: Final = Path(__file__).parents[1] / "guarantees.py"


def test_every_guarantee_has_a_test_that_names_it(request: pytest.FixtureRequest) -> None:
    promised = _promised()
    held = set(_held(request.session.items))
    assert held <= promised.keys() or not promised, f"tests name guarantees that are not listed: {sorted(held - promised.keys())}"
    if not _is_full_run(request.config):
        return
    missing = [f"{number}. {sentence}" for number, sentence in promised.items() if number not in held]
    assert not missing, "no test holds these guarantees; mark one with @pytest.mark.guarantee(number):\n" + "\n".join(missing)


def _promised() -> dict[int, str]:
    spec = importlib.util.spec_from_file_location("guarantees", LIST)
    if not LIST.exists() or spec is None or spec.loader is None:
        return {}
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.GUARANTEES)


def _held(items: Iterable[pytest.Item]) -> Iterable[int]:
    for item in items:
        for mark in item.iter_markers("guarantee"):
            yield from mark.args


def _is_full_run(config: pytest.Config) -> bool:
    """Whether all of tests/ was asked for, by name or by default; part of a run cannot tell what is missing."""
    whole = {config.rootpath, config.rootpath / "tests"}
    asked = {(config.rootpath / argument).resolve() for argument in config.args}
    return asked <= whole and not config.getoption("keyword") and not config.getoption("markexpr")
