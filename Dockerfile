# Untested: no Docker daemon was at hand when it was written.
# docker build -t memnet . && docker run --rm -it -v memnet:/memory -v "$PWD/notes:/notes:ro" memnet ingest /notes
FROM python:3.12-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
# FAISS uses OpenMP.
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir /wheels/memnet_qa-*.whl && rm -rf /wheels
RUN useradd --create-home memnet && mkdir /memory && chown memnet /memory
USER memnet
ENV MEMNET_STORE=/memory/store
VOLUME /memory
ENTRYPOINT ["memnet"]
CMD ["ask"]
