"""`pool find`, `pool use NAME` and `pool embed NAME`: models to use, and their way into the pool file."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from typer import Argument

from conductor.errors import PoolError
from conductor.text.formatting import named, quantity
from conductor.workers.discovery.local_servers import local_servers
from conductor.workers.discovery.offers import Offer, list_models, offers, with_model_file, with_offer
from conductor.workers.embedded.model_hub import HUB_MODELS, Listen, download, hub_address, hub_model
from conductor.workers.pool.built_in import built_in_file
from conductor.workers.pool.pool import built_in_pool, configured_path, configured_pool, path_to_write
from conductor.workers.pool.toml_editor import PoolDocument
from storage import data_folder, default_url
from studio.cli.options import App, JsonLines, Pooled
from studio.cli.output.terminal import agreed, one_line, print_lines, print_remark, table

app = App()


@app.callback()
def pool() -> None:
    """Find models on this machine and by keys, and use them.

    Nothing outside this machine is asked before a service is named in `pool use`.
    """


@app.command()
def find(*, _json_lines: JsonLines = False, options: Pooled) -> int:
    """List servers on this machine and keys that are set, with what the pool does not have of them."""
    sources = _open_offers(options)
    if options.json:
        return options.show({"offers": [_shape(offer) for offer in sources]})
    if sources:
        rows = [(one_line(offer.name), one_line(offer.base_url), _models(offer)) for offer in sources]
        print_lines(table(("name", "where", "models"), rows))
    print_remark(
        f"{quantity(len(sources), 'source')}; `pool use NAME` puts the models into the pool."
        if sources
        else "nothing is found that the pool does not have: no server on the usual ports, no key that is set."
    )
    return 0


@app.command()
def use(
    name: Annotated[str, Argument(metavar="NAME", help="As `pool find` lists it.")], *, options: Pooled
) -> int:
    """Put the models of a server or service into the pool file. A service is asked for its list."""
    sources = _open_offers(options)
    offer = next((offer for offer in sources if offer.name.lower() == name.lower()), None)
    if offer is None:
        there = named([offer.name for offer in sources]) or "nothing"
        raise PoolError(f"{name!r} is not among what is found; `pool find` finds {there}.")
    if not offer.has_known_host and not agreed(f"Send {offer.api_key_env} to {offer.origin}?"):
        raise PoolError(f"{offer.api_key_env} was not sent to {offer.origin}, and nothing was changed.")
    offer = asyncio.run(list_models(offer))
    path = path_to_write(options.pool)
    document, message = with_offer(PoolDocument.opened(path), offer)
    document.save()
    return options.show({"pool": str(path), **_shape(offer)}, f"{one_line(message)} Written to {path}.")


@app.command()
def embed(
    name: Annotated[str | None, Argument(metavar="NAME", help="As listed without a name.")] = None,
    *,
    options: Pooled,
) -> int:
    """Download a better small model, and serve it on this machine. Without a name: list what there is."""
    if name is None:
        rows = [(model.name, model.about, model.repository) for model in HUB_MODELS]
        there = [model._asdict() for model in HUB_MODELS]
        return options.show({"models": there}, table(("name", "size, licence", "on the hub"), rows))
    model = hub_model(name)
    if not agreed(f"Download {model.name} ({model.about}) from {hub_address()}?"):
        raise PoolError(f"{model.name} was not downloaded, and nothing was changed.")
    with _bar(model.name, quiet=options.json) as listen:
        file = download(model, data_folder(default_url()) / "models", listen=listen)
    path = path_to_write(options.pool)
    document, message = with_model_file(PoolDocument.opened(path), model.name, file)
    document.save()
    shape = {"pool": str(path), "name": model.name, "file": str(file)}
    return options.show(shape, f"{file} is there. {message} Written to {path}.")


@contextmanager
def _bar(name: str, *, quiet: bool) -> Iterator[Listen]:
    """A bar of the bytes that came, on a terminal alone."""
    from rich import progress as rich  # noqa: PLC0415 - for a terminal only
    from rich.console import Console  # noqa: PLC0415

    columns = (rich.TextColumn(name), rich.BarColumn(), rich.DownloadColumn(), rich.TimeRemainingColumn())
    console = Console(stderr=True)
    with rich.Progress(*columns, console=console, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(name)
        yield lambda have, size: bar.update(task, completed=have, total=size)


def _open_offers(options: Pooled) -> Sequence[Offer]:
    path = configured_path(options.pool)
    unwritten = path is not None and not path.exists() and built_in_file(path) is None
    there = built_in_pool() if unwritten else configured_pool(path)
    return offers(there, asyncio.run(local_servers()))


def _models(offer: Offer) -> str:
    if offer.models is None:
        return f"by {offer.api_key_env}"
    return one_line(named([model.name for model in offer.models]))


def _shape(offer: Offer) -> dict[str, Any]:
    """`models` is null where the service was not asked."""
    models = None if offer.models is None else [model.name for model in offer.models]
    return {
        "name": offer.name,
        "base_url": offer.base_url,
        "api_key_env": offer.api_key_env,
        "models": models,
    }
