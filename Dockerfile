# feedmill in a container: every role is a command of the same image (run, worker, api, relay,
# migrate). Build it with `docker build --tag feedmill .`; docs/how-to/deploy.md tells the rest.

# A tag moves, a digest does not: this is the index of all platforms of that tag. Update both together
# (`docker buildx imagetools inspect python:3.13-slim-bookworm`).
ARG PYTHON=3.13.14-slim-bookworm@sha256:67a1e1f215ccda113cfc024e8639049257e88f273898f595b61476d128d387e8

FROM python:${PYTHON} AS build
ARG EXTRAS=cluster,encryption,grpc,mcp,redis,kafka
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /source
# An older pip does not take the hashes of the lock file as constraints.
RUN pip install pip==26.3
COPY requirements.txt ./
RUN echo hatchling > build.txt \
 && pip install --require-hashes --requirement build.txt --constraint requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .
# The lock file also has what tests need: as a constraint it gives versions and hashes, and only
# what the wheel asks for is installed.
RUN wheel=(/wheels/feedmill-*.whl) \
 && python -m venv --without-pip /opt/feedmill \
 && echo "feedmill[${EXTRAS}] @ file://${wheel[0]} $(pip hash "${wheel[0]}" | tail -n 1)" > image.txt \
 && pip --python /opt/feedmill/bin/python install --require-hashes \
      --requirement image.txt --constraint requirements.txt

FROM python:${PYTHON}
COPY --from=build /opt/feedmill /opt/feedmill
# A number, so that Kubernetes can see that it is not root.
RUN install --directory --owner=65532 --group=65532 --mode=0700 /var/lib/feedmill
USER 65532:65532
WORKDIR /var/lib/feedmill
ENV PATH=/opt/feedmill/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    FEEDMILL_HOME=/var/lib/feedmill \
    FEEDMILL_LOG_JSON=1 \
    FEEDMILL_HEALTH_PORT=9464
EXPOSE 8642 9464
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 CMD ["feedmill", "healthcheck"]
ENTRYPOINT ["feedmill"]
CMD ["run"]
