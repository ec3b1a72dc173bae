"""What libcurl's result codes mean in feedmill's words."""

import pycurl

from feedmill.model.fetch import FailureReason, RefusalReason

# Codes for which pycurl has an old name or none.
_WEIRD_SERVER_REPLY = 8
_TOO_LARGE = 100

_REASONS: dict[int, FailureReason | RefusalReason] = {
    pycurl.E_UNSUPPORTED_PROTOCOL: "protocol-error",  # HTTP/0.9, among others
    pycurl.E_URL_MALFORMAT: "malformed-url",
    pycurl.E_LOGIN_DENIED: "malformed-url",  # credentials inside the URL
    pycurl.E_COULDNT_RESOLVE_PROXY: "dns-failure",
    pycurl.E_COULDNT_RESOLVE_HOST: "dns-failure",
    _WEIRD_SERVER_REPLY: "protocol-error",
    pycurl.E_BAD_CONTENT_ENCODING: "protocol-error",  # an unasked transfer-coding
    _TOO_LARGE: "headers-too-large",
    pycurl.E_SSL_CONNECT_ERROR: "tls-failure",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls-failure",
    pycurl.E_SSL_CIPHER: "tls-failure",
    pycurl.E_SSL_ENGINE_INITFAILED: "tls-failure",
    pycurl.E_SSL_ISSUER_ERROR: "tls-failure",
}

# The connection ended, or broke, after the header was complete.
_CUTS = frozenset({pycurl.E_PARTIAL_FILE, pycurl.E_RECV_ERROR, pycurl.E_GOT_NOTHING})


def reason_of(code: int, *, asked: bool) -> FailureReason | RefusalReason:
    """The stable word for a failed transfer; `asked`: the request had gone out."""
    if code == pycurl.E_OPERATION_TIMEDOUT:
        return "timeout" if asked else "timeout-connect"
    return _REASONS.get(code, "connection-failed")


def is_truncated(code: int) -> bool:
    """Whether the body ended before its end."""
    return code in _CUTS
