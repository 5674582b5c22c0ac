# The app with the API, on one port. `docker compose up` adds PostgreSQL; docs/operating.md has the commands.
FROM python:3.13-slim-trixie AS build

WORKDIR /source
RUN python -m venv /opt/conductor
ENV PATH=/opt/conductor/bin:$PATH PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
# What is locked, by its hashes, in a layer that a change of the code leaves as it is.
COPY requirements.lock requirements-dev.lock ./
RUN pip install --no-deps --require-hashes --requirement requirements.lock \
    # The driver of PostgreSQL in the version that the tests run with.
    && sed 's/ *\\$//; /--hash=/d' requirements-dev.lock > versions.txt \
    && pip install --constraint versions.txt 'psycopg[binary]'
COPY . .
RUN pip install --no-deps .

FROM python:3.13-slim-trixie

# Sessions, pool.toml and the API's token are this user's own files, in the volume. A password is needed beyond this machine.
RUN useradd --system --uid 10001 --create-home --home-dir /data conductor
COPY --from=build /opt/conductor /opt/conductor
ENV PATH=/opt/conductor/bin:$PATH HOME=/data
USER conductor
WORKDIR /data
VOLUME /data
EXPOSE 8501
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/readyz', timeout=4)"]
STOPSIGNAL SIGTERM
CMD ["conductor", "serve", "--host", "0.0.0.0", "--port", "8501"]
