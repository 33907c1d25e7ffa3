"""Read a form from the body of a request, within limits of size and number."""

from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

MAX_FIELDS: Final = 20


class BadForm(Exception):
    """A form that our pages never send. The message names the fix."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read_form(request: Request, max_bytes: int) -> dict[str, str]:
    """Read the fields of a form by name; the last of two equal names counts. Raises BadForm."""
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                raise BadForm(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"The form is larger than {max_bytes} bytes. Shorten its answers.",
                )
    except ClientDisconnect:
        why = "The connection ended before the form did. Send it again."
        raise BadForm(HTTPStatus.BAD_REQUEST, why) from None
    return _parse(body)


def _parse(body: bytes) -> dict[str, str]:
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except UnicodeDecodeError:
        why = "The form is no UTF-8 text. Send the form of the page."
    except ValueError:
        why = f"The form has more than {MAX_FIELDS} fields. Send the form of the page."
    raise BadForm(HTTPStatus.BAD_REQUEST, why)
