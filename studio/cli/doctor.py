"""`doctor`: whether every worker, the Conductor and every server of tools can be used, and what to do where
one cannot.

Prints a table and then a line for everything that a person should look at. Knows no check.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any

from conductor.errors import StorageError
from conductor.text.formatting import quantity
from conductor.values.charge import Charge
from conductor.workers.health.findings import Check, Health
from conductor.workers.health.probe import AT_ONCE, Note, ProbeTarget, examine, targets
from conductor.workers.health.tool_health import ToolServerHealth, examine_tools
from conductor.workers.pool.pool import Pool, configured_path, configured_pool
from conductor.workers.tools.allowed_tools import allow
from conductor.workers.tools.connections import ToolConnections
from conductor.workers.tools.tool_server import ToolServer
from storage import SessionStore, default_url
from studio.cli.environment import checks
from studio.cli.opening import accept_tools, confirm_keys
from studio.cli.options import App, Configured, DryRun, flag
from studio.cli.output.examined_tools import planned_starts, show_tools, tool_server_shape
from studio.cli.output.terminal import UNKNOWN, one_line, print_lines, print_remark, table

Examined = tuple[ProbeTarget, Health]

_HEADINGS = ("", "key", "reachable", "model", "answer", "first token", "tokens/s")
_CHECKS: tuple[Check, ...] = ("key", "reachable", "model", "answer")

app = App()


@app.command()
def doctor(
    confirm: Annotated[bool, flag("--confirm-keys", "First let each key be sent to its host.")] = False,
    accept: Annotated[
        bool,
        flag(
            "--accept-tools",
            "First let each tool server be started on this machine, with its tools as they are.",
        ),
    ] = False,
    *,
    dry_run: DryRun = False,
    options: Configured,
) -> int:
    """Try every worker, the Conductor and every server of tools.

    What the answers took counts as used today; no tool is called.

    The exit code is 0 when all can be used, else 1.
    """
    path = configured_path(options.pool)
    if not dry_run:
        confirm_keys(path, ask=not confirm, tools=False)
        accept_tools(path, ask=not accept)
    pool = configured_pool(path)
    probes, servers = targets(pool), pool.tool_servers
    if dry_run:
        rows = [(one_line(each.name), each.role, one_line(each.card.model)) for each in probes]
        shapes = [{"name": each.name, "role": each.role, "model": each.card.model} for each in probes]
        text = table(("asked for a short answer", "as", "model"), rows)
        shape = {"asked": shapes, "started": [server.name for server in servers]}
        return options.show(shape, "\n\n".join(filter(None, (text, planned_starts(servers)))))
    if not options.json:
        starting = f"; starting {quantity(len(servers), 'server')} of tools" if servers else ""
        print_remark(f"asking {len(probes)}, a short answer each{starting}")
    charges: list[Charge] = []
    examined, of_tools = asyncio.run(_examined(pool, probes, charges.append, accept=accept))
    _record(charges, options.database or default_url())
    ok = not any(health.failing for _, health in examined) and not any(each.failing for each in of_tools)
    if options.json:
        options.show(_shape(path, examined, of_tools, ok=ok))
    else:
        print_lines(f"{path or 'The built-in pool'}: {pool.label or quantity(len(pool.workers), 'worker')}\n")
        lines = table(_HEADINGS, [_row(target, health) for target, health in examined]).split("\n")
        failing = {at for at, (_, health) in enumerate(examined, 1) if health.failing}
        print_lines(*lines, "", red=failing)
        for check, (well, sentence) in checks().items():
            print_lines(f"{check.capitalize()}{'' if well else ' (faulty)'}: {one_line(sentence)}")
        if pool.conductor is None:
            print_lines("\nNo [conductor] is named: the built-in planner writes the workflows, by rule.")
        complaints = [
            f"{one_line(target.name)}: {one_line(finding.sentence)}"
            for target, health in examined
            for finding in health.complaints
        ]
        if complaints:
            print_lines("", *complaints)
        show_tools(of_tools)
        if pool.unusable:
            print_lines(f"\nNot offered to the Conductor: {', '.join(map(one_line, pool.unusable))}.")
    return 0 if ok else 1


def _record(charges: Sequence[Charge], url: str) -> None:
    """Write into the store what the requests took."""
    if not charges:
        return
    try:
        with SessionStore.open(url) as store:
            store.ledger.add(charges)
    except StorageError as error:
        print_remark(f"what the answers took is not counted: {error}")


async def _examined(
    pool: Pool, probes: Sequence[ProbeTarget], note: Note, *, accept: bool
) -> tuple[list[Examined], list[ToolServerHealth]]:
    """All of them in their order, several called at a time, and the pool's servers of tools, whose tools
    `accept` allows as they describe themselves now.
    """
    places = asyncio.Semaphore(AT_ONCE)
    connections = ToolConnections()

    async def last(target: ProbeTarget) -> Examined:
        async with places, aclosing(examine(target, note)) as states:
            return target, [health async for health in states][-1]

    async def of_tools(server: ToolServer) -> ToolServerHealth:
        async with places:
            health = await examine_tools(server, pool, connections)
            if accept and (changed := [tool.name for tool in health.tools if tool.changed_from is not None]):
                allow(server, health.tools)
                print_remark(f"{server.name} may describe itself as it does now: {', '.join(changed)}.")
                health = await examine_tools(server, pool, connections)
            return health

    try:
        return await asyncio.gather(
            asyncio.gather(*map(last, probes)), asyncio.gather(*map(of_tools, pool.tool_servers))
        )
    finally:
        await asyncio.to_thread(connections.end)


def _row(target: ProbeTarget, health: Health) -> tuple[str, ...]:
    role = " (Conductor)" if target.role == "conductor" else ""
    words = (finding.word if (finding := health.finding(check)) else UNKNOWN for check in _CHECKS)
    first = UNKNOWN if health.first_token is None else f"{health.first_token:.2f} s"
    rate = UNKNOWN if health.tokens_per_second is None else f"{health.tokens_per_second:,.0f}"
    return (one_line(target.name) + role, *words, first, rate)


def _shape(
    path: Path | None, examined: Sequence[Examined], of_tools: Sequence[ToolServerHealth], *, ok: bool
) -> dict[str, Any]:
    """`{"ok", "pool", "environment", "conductor", "workers", "tool_servers"}`: `conductor` is null for the
    built-in planner.

    `environment` has the checks of the variables for proxies, certificates, time zone and locale.
    """
    shapes = [(target.role, _target_shape(target, health)) for target, health in examined]
    return {
        "ok": ok,
        "pool": None if path is None else str(path),
        "environment": {
            check: {"ok": well, "message": sentence} for check, (well, sentence) in checks().items()
        },
        "conductor": next((shape for role, shape in shapes if role == "conductor"), None),
        "workers": [shape for role, shape in shapes if role == "worker"],
        "tool_servers": list(map(tool_server_shape, of_tools)),
    }


def _target_shape(target: ProbeTarget, health: Health) -> dict[str, Any]:
    return {
        "name": target.name,
        "kind": target.card.kind,
        "endpoint": target.card.endpoint,
        "model": target.card.model,
        "ok": not health.failing,
        "first_token_seconds": health.first_token,
        "tokens_per_second": health.tokens_per_second,
        "findings": [finding.model_dump() for finding in health.findings],
    }
