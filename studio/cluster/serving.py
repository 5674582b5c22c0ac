"""The API deployed on Ray Serve: replicas that come and go with the requests under way, behind proxies.

Knows Ray Serve; what a replica does is its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex
from typing import Any

from conductor.errors import ClusterError
from conductor.extras import install_command
from studio.cluster.api_replica import NAME, ApiSettings
from studio.cluster.application import Scaling, application
from studio.cluster.brief import Brief
from studio.cluster.connection import GONE, HeadWatch, cause_line
from studio.cluster.proxy import CALLBACK

APPLICATION = "conductor"
"""The API's name among the applications that Serve may have on a cluster."""

PLACE_SECONDS = 120.0
"""How long a first replica may take to be there."""

STOP_SECONDS = 10.0
"""How long the answers of all replicas may take to end where the API is taken down."""

LOOK_SECONDS = 0.5


class Deployment:
    """The application on the cluster that is connected to. Serve's proxies listen at `host` and `port` on the
    head and each machine with a replica; Serve is started where the cluster has none.

    Raises `ClusterError` where Serve cannot listen there, or listens elsewhere.
    """

    def __init__(self, *, host: str, port: int) -> None:
        self._serve = _serve()
        self._head = HeadWatch()
        self._id = ""
        self._handle: Any = None
        self._began = _addresses() is None
        try:
            self._serve.start(
                http_options={"host": host, "port": port},
                controller_options={"runtime_env": {"env_vars": CALLBACK}},
            )
        except Exception as error:
            self._end_serve()
            raise ClusterError(
                f"Ray Serve cannot start and listen at {host}, port {port}, on each machine: "
                f"{cause_line(str(error))}"
            ) from error
        if (address := _addresses()) not in (None, (host, port)):
            raise ClusterError(
                "Ray Serve runs on this cluster already, and listens at {}, port {}: name these with --host "
                "and --port, or end it with `serve shutdown`.".format(*address)
            )

    def deploy(
        self, brief: Brief, scaling: Scaling, *, hosts: frozenset[str], environment: Mapping[str, str]
    ) -> None:
        """Deploy it, and wait until a replica answers; see `ApiSettings`. One that is there is replaced,
        replica by replica, and ends none of its streams.

        Raises `ClusterError` where no replica can be used.
        """
        self._id, serve = token_hex(8), self._serve
        settings = ApiSettings(self._id, hosts, environment)
        target = serve.RunTarget(application(brief, settings, scaling), name=APPLICATION)
        serve.run_many([target], wait_for_applications_running=False)
        self._await_running()

    def watch(self) -> None:
        """Wait until others take it down, or its cluster is gone, and raise `ClusterError` then."""
        while not self._head.gone:
            if self._head.answered and self._status() is None:
                raise ClusterError("The API was taken down by another program.")
            time.sleep(LOOK_SECONDS)
        raise ClusterError(GONE)

    def take_down(self) -> bool:
        """End all answers, then the replicas, and Serve where it was started for them; False, and nothing is
        ended, where there are replicas of another deployment.
        """
        if not self._head.answered:
            return True
        if any(deployment != self._id for deployment in self._ask("deployment")):
            return False
        self._ask("stop")
        with suppress(Exception):
            self._serve.delete(APPLICATION)
        self._end_serve()
        return True

    def _end_serve(self) -> None:
        if self._began:
            with suppress(Exception):
                self._serve.shutdown()

    def _ask(self, what: str) -> list[Any]:
        """What the replicas that answer, answer."""
        try:
            self._handle = self._handle or self._serve.get_deployment_handle(NAME, APPLICATION)
            replies = self._handle.broadcast(what).results(timeout_s=STOP_SECONDS, return_exceptions=True)
        except Exception:  # noqa: BLE001 - Serve raises of every kind where there is no replica
            return []
        return [each for each in replies if not isinstance(each, Exception)]

    def _await_running(self) -> None:
        until = time.monotonic() + PLACE_SECONDS
        # Serve itself calls it running once all that it replaces have ended their streams.
        while self._id not in self._ask("deployment"):
            application = self._status()
            if application is not None and application.status in ("DEPLOY_FAILED", "UNHEALTHY"):
                raise ClusterError(_refusal(application))
            if time.monotonic() > until:
                state = "unknown" if application is None else application.status.value.lower()
                raise ClusterError(
                    f"No replica of the API answered in {PLACE_SECONDS:.0f} seconds; Ray Serve calls it "
                    f"{state}. Each takes one CPU: add a machine, or end what else runs there."
                )
            time.sleep(LOOK_SECONDS)

    def _status(self) -> Any:
        return self._serve.status().applications.get(APPLICATION)


def _serve() -> Any:
    """Raises `ClusterError` where it is not installed, as Ray is without its extra `serve`."""
    try:
        from ray import serve  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ClusterError(f"Ray Serve is not installed; it comes with: {install_command('ray')}.") from error
    # It writes to stderr what it does.
    logging.getLogger("ray.serve").setLevel(logging.ERROR)
    return serve


def _addresses() -> tuple[str, int] | None:
    """Where Serve listens on the cluster; None if it does not run."""
    from ray.serve.context import _get_global_client  # noqa: PLC0415
    from ray.serve.exceptions import RayServeException  # noqa: PLC0415

    try:
        options = _get_global_client().http_config
    except RayServeException:
        return None
    return options.host, options.port


def _refusal(application: Any) -> str:
    """Why a replica was not made, in its own words, from an application's status."""
    message = "\n".join([application.message, *(each.message for each in application.deployments.values())])
    _, named, reason = message.rpartition("ClusterError: ")
    return reason if named else f"The API could not be deployed: {cause_line(message)}"
