# Sourced by deploy/check-image.sh: three replicas behind nginx, and what happens when one is killed.

replicas() {
  local nginx
  nginx=$(COOKIE_SECRET=x compose_replicas config --images | grep '^nginx')
  have "$nginx" stand_in_nginx
  docker run --rm --network none --read-only --tmpfs /tmp --user 10001 --cap-drop ALL \
    -v "$PWD/deploy/nginx:/etc/lab:ro" --entrypoint nginx "$nginx" \
    -e /dev/stderr -t -c /etc/lab/sidecar.conf >"$work/sidecar.log" 2>&1 || {
    cat "$work/sidecar.log"
    fail "nginx does not take sidecar.conf"
  }
  say "nginx takes the pods' sidecar.conf"
  if ! [ -x "$python" ]; then
    skip "three replicas: the checks need the development environment (make check-image installs it)"
    return
  fi
  if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
    skip "three replicas: no Chromium here (CHROMIUM=/path names one)"
    return
  fi
  export COOKIE_SECRET STREAMLIT_SERVER_ALLOWED_HOSTS="127.0.0.1 localhost"
  COOKIE_SECRET=$(python3 -c 'import secrets; print(secrets.token_hex(32))')
  compose_replicas up -d --no-build --pull never --wait --wait-timeout 400 >"$work/replicas.log" 2>&1 || {
    cat "$work/replicas.log"
    compose_replicas logs | tail -n 40
    fail "the replicas do not come up"
  }
  say "three replicas behind nginx, all read-only, without capabilities, not root"
  "$python" deploy/check/replicas.py "127.0.0.1:$port" check-replicas >"$work/replicas.out" 2>&1 || {
    tail -n 60 "$work/replicas.out"
    fail "the replicas do not hold"
  }
  while IFS= read -r line; do
    case $line in
      '[replicas] '*) say "${line#\[replicas\] }" ;;
      *) echo "$line" ;;
    esac
  done <"$work/replicas.out"
  compose_replicas down -t 10 >/dev/null 2>&1
}
