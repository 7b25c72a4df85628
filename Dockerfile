# Each stage depends on no more than it needs, so that a change in the app installs and pulls nothing
# anew. The base is pinned by version; to pin it by digest too, append @sha256:… of the image that
# your registry gives (it moves with every security update of Debian, so it is not fixed here).
FROM python:3.11.15-slim-bookworm AS packages
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV PATH=/opt/venv/bin:$PATH PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
RUN python -m venv /opt/venv
COPY scripts/torch_index.py scripts/
COPY requirements.lock .
# Every package, and each of its own, is the one that the lock file knows by its SHA-256. The option
# is two words or none, so it stays unquoted.
# hadolint ignore=SC2046
RUN pip install $(python scripts/torch_index.py) --require-hashes --only-binary :all: -r requirements.lock

# Pulling needs no more of the app than this; without attention_lab/__init__.py nothing else loads.
FROM packages AS models
ENV ATTENTION_LAB_HOME=/models
COPY attention_lab/errors.py attention_lab/i18n.py attention_lab/config.py attention_lab/labels.py \
    attention_lab/tokens.py attention_lab/
COPY attention_lab/model attention_lab/model
COPY attention_lab/zoo attention_lab/zoo
RUN python -c "from attention_lab.zoo.cli import models_app as app; app()" pull minilm smollm2

# What runs imports no package's tests, compiles no C++, serves no notebook and installs nothing.
FROM packages AS trimmed
WORKDIR /opt/venv/lib/python3.11/site-packages
RUN find torch/bin -type f ! -name torch_shm_manager -delete && \
    rm -rf torch/test torch/include torch/share pyarrow/include pydeck/nbextension plotly/labextension && \
    find numpy pandas pyarrow sympy networkx -type d -name tests -prune -exec rm -rf {} + && \
    find . -type f \( -name '*.map' -o -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' \) -delete && \
    rm -rf pip pip-*.dist-info /opt/venv/bin/pip* /opt/venv/share/jupyter

FROM python:3.11.15-slim-bookworm
LABEL org.opencontainers.image.title="Attention Lab" \
    org.opencontainers.image.description="See what a real Transformer's attention does with your own sentence" \
    org.opencontainers.image.version="0.1.0" \
    org.opencontainers.image.licenses="Apache-2.0"
ENV ATTENTION_LAB_HOME=/models PATH=/opt/venv/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_HEADLESS=true
# Without a name for itself Streamlit asks the Internet for its address at every start.
ENV STREAMLIT_BROWSER_SERVER_ADDRESS=localhost
RUN useradd --uid 10001 --no-create-home --home-dir /tmp lab
COPY --from=trimmed /opt/venv /opt/venv
COPY --from=models /models /models
WORKDIR /app
COPY . .
RUN python -m compileall -q app.py attention_lab pages
USER 10001
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
# The app, or any command of the package: `docker run --rm attention-lab models list`. Both become
# process 1, which ends by itself on SIGTERM.
ENTRYPOINT ["sh", "/app/deploy/entrypoint.sh"]
CMD ["serve"]
