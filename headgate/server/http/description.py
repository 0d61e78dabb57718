"""The OpenAPI description: what every route may answer, problems included."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from headgate.server.http.problems import MEDIA_TYPE, Problem

PROBLEMS = {
    400: "The request cannot be read.",
    401: "A token is needed.",
    403: "The token's role is not enough.",
    404: "There is none of this name.",
    409: "It clashes with what there is.",
    413: "The request is too large.",
    422: "The request is wrong; the answer says where, and what would be right.",
    429: "Too many requests.",
    503: "There was no room in time, or the run has ended.",
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text} for status, text in PROBLEMS.items()
}


def describe(app: FastAPI) -> None:
    """Let the description say that problems come as problem documents; FastAPI takes every model for plain JSON."""
    usual = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            for path in usual()["paths"].values():
                for operation in path.values():
                    for status, answer in operation["responses"].items():
                        if status.isdecimal() and int(status) in PROBLEMS:
                            answer["content"] = {MEDIA_TYPE: answer["content"]["application/json"]}
        return usual()

    app.openapi = described  # type: ignore[method-assign]  # as FastAPI's documentation has it
