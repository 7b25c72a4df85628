# The first stage installs packages and pulls the models; the second carries what runs.
FROM python:3.11.13-slim-bookworm AS build
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV ATTENTION_LAB_HOME=/models PATH=/opt/venv/bin:$PATH PIP_NO_CACHE_DIR=1
WORKDIR /app
RUN python -m venv /opt/venv
COPY scripts scripts
COPY requirements.txt .
# The option is two words or none, so it stays unquoted.
# hadolint ignore=SC2046
RUN pip install $(python scripts/torch_index.py) -r requirements.txt
COPY assets assets
COPY attention_lab attention_lab
RUN python -m attention_lab models pull minilm smollm2

FROM python:3.11.13-slim-bookworm
ENV ATTENTION_LAB_HOME=/models PATH=/opt/venv/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_HEADLESS=true
RUN useradd --uid 10001 --no-create-home --home-dir /tmp lab
COPY --from=build /opt/venv /opt/venv
COPY --from=build --chown=lab /models /models
WORKDIR /app
COPY . .
RUN python -m compileall -q app.py attention_lab pages
USER 10001
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
# Streamlit is process 1 and ends by itself on SIGTERM. As a command line tool:
# docker run --rm attention-lab python -m attention_lab models list
CMD ["streamlit", "run", "app.py"]
