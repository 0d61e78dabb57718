"""Errors as problem documents (RFC 9457): what is wrong, where, and what would be right."""

from __future__ import annotations

import logging
import re
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from headgate.errors import ApplicationError, ServerError
from headgate.server.service import NotThere, Taken

log = logging.getLogger("headgate.server")

MEDIA_TYPE = "application/problem+json"
_POSITION = re.compile(r"line (\d+), character (\d+)")


class Problem(BaseModel):
    """What is wrong with a request. `line` and `character` are those of the CQL text, counted from 1."""

    status: int
    title: str
    detail: str
    place: str | None = None
    problem: str | None = None
    remedy: str | None = None
    line: int | None = None
    character: int | None = None


def problem(status: int, detail: str, **more: Any) -> JSONResponse:
    """A problem document; `more` are further fields of it."""
    found = Problem(status=status, title=HTTPStatus(status).phrase, detail=detail, **more)
    return JSONResponse(found.model_dump(exclude_none=True), status, media_type=MEDIA_TYPE)


def of_application_error(error: ApplicationError) -> JSONResponse:
    """404 for what is not there, 409 for clashes, 422 for everything else that a caller did wrong."""
    status = 404 if isinstance(error, NotThere) else 409 if isinstance(error, Taken) else 422
    about = {"place": error.place, "problem": error.problem, "remedy": error.remedy}
    return problem(status, str(error), **about, **position(error))


def position(error: ApplicationError) -> dict[str, int]:
    """Line and character in the CQL text that an error is about; empty if it names none."""
    found = _POSITION.search(error.problem)
    return {} if found is None else {"line": int(found[1]), "character": int(found[2])}


def add_handlers(app: FastAPI) -> None:
    """Every error of the API becomes a problem document. What is our fault is logged in full, and told in a line."""

    @app.exception_handler(ApplicationError)
    async def _application(request: Request, error: ApplicationError) -> JSONResponse:
        return of_application_error(error)

    @app.exception_handler(RequestValidationError)
    async def _validation(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
        return problem(422, f"{place}: {first['msg']}", place=place, problem=str(first["msg"]))

    @app.exception_handler(TimeoutError)
    async def _timeout(request: Request, error: TimeoutError) -> JSONResponse:
        answer = problem(503, str(error))
        answer.headers["Retry-After"] = "1"
        return answer

    @app.exception_handler(ServerError)
    async def _cannot(request: Request, error: ServerError) -> JSONResponse:
        return problem(503, str(error), place=error.place, problem=error.problem, remedy=error.remedy)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        answer = problem(error.status_code, str(error.detail))
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(Exception)
    async def _ours(request: Request, error: Exception) -> JSONResponse:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return problem(500, "the server failed at this request; its log says more")
