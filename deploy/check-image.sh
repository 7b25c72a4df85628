#!/usr/bin/env bash
# Builds the image and runs it as a room does: without a network, read-only, not root; with Compose;
# as three replicas behind nginx, one of which is killed under live sessions.
# Uses the Docker engine that is running. Without one, on Debian as root, it starts its own, and
# makes stand-ins for published images where no registry answers. A skip is not a pass.
set -euo pipefail
cd "$(dirname "$0")/.."
work=${CHECK_IMAGE_DIR:-/tmp/check-image}
image=attention-lab port=${PORT:-8511} name=attention-lab-check
python=.venv/bin/python
engine='' index='' torch_index='' stands_in='' passed=0 failed=0 skipped=0
mkdir -p "$work"

say() { passed=$((passed + 1)); echo "[$SECONDS s] $*"; }
skip() { skipped=$((skipped + 1)); echo "SKIPPED: $*"; }
fail() { failed=1; echo "FAILED: $*"; exit 1; }
give_up() { skip "$@"; exit 0; }

compose() { with_compose -p check "$@"; }
compose_replicas() { with_compose -p check-replicas -f deploy/replicas/compose.yaml "$@"; }
with_compose() {
  if command -v docker-compose >/dev/null; then PORT=$port SUBNET=172.31.249 docker-compose "$@"
  else PORT=$port SUBNET=172.31.249 docker compose "$@"; fi
}

finish() {
  docker rm -f "$name" >/dev/null 2>&1 || true
  compose down -t 2 >/dev/null 2>&1 || true
  COOKIE_SECRET=x compose_replicas down -t 2 >/dev/null 2>&1 || true
  end_engine
  echo "image: $passed passed, $failed failed, $skipped skipped"
}

. deploy/check/engine.sh
. deploy/check/image.sh
. deploy/check/replicas.sh
trap finish EXIT
docker info >/dev/null 2>&1 || own_engine
tools
say "engine: $(docker version -f '{{.Server.Version}}')"
lint
build
alone
command_line
one_service
replicas
