# The command line with the scoring server and PostgreSQL's driver: docker build -t privacygauge .
FROM python:3.12-slim AS build
COPY pyproject.toml README.md CHANGELOG.md LICENSE constraints.txt /source/
COPY src /source/src
RUN python -m venv /opt/privacygauge
RUN /opt/privacygauge/bin/pip install --no-cache-dir --constraint /source/constraints.txt '/source[postgresql]'

FROM python:3.12-slim
COPY --from=build /opt/privacygauge /opt/privacygauge
RUN useradd --uid 10001 --create-home gauge
ENV PATH=/opt/privacygauge/bin:$PATH PYTHONUNBUFFERED=1 MPLCONFIGDIR=/tmp
USER 10001
WORKDIR /work
ENTRYPOINT ["privacygauge"]
CMD ["--help"]
