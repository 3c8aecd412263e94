"""Metrics over HTTP on this machine, for Prometheus to fetch."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

from tidings.model.errors import InputError, Problem
from tidings.spark.metrics import Metrics

LOOPBACK: Final = "127.0.0.1"


class MetricsServer:
    """Answers `GET /metrics` while it is open."""

    def __init__(self, metrics: Metrics, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_GET(self) -> None:
                found = self.path.partition("?")[0] == "/metrics"
                body = metrics.exposition().encode() if found else b"see /metrics\n"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """A scrape every few seconds is no news."""

        try:
            self._server = ThreadingHTTPServer((LOOPBACK, port), Handler)
        except OSError as error:
            problem = Problem("option-invalid", "--metrics", f"port {port}: {error}", "a free port of this machine")
            raise InputError(problem) from None
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, name="tidings-metrics", daemon=True)

    @property
    def port(self) -> int:
        """The port, also where 0 asked for any."""
        return int(self._server.server_address[1])

    def __enter__(self) -> "MetricsServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
