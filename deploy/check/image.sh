# Sourced by deploy/check-image.sh: the image alone, as a room without a network runs it.

lint() {
  hadolint Dockerfile || fail "hadolint finds faults"
  say "hadolint finds nothing in the Dockerfile"
  compose config -q || fail "compose.yaml is not valid"
  COOKIE_SECRET=x compose_replicas config -q || fail "deploy/replicas/compose.yaml is not valid"
  say "both Compose files are valid"
}

build() {
  have "$(awk '$1 == "FROM" { print $2; exit }' Dockerfile)" stand_in_python
  torch_index
  docker build --network host ${torch_index:+--build-arg "TORCH_INDEX=$torch_index"} -t "$image" . \
    >"$work/build.log" 2>&1 || {
    tail -n 30 "$work/build.log"
    fail "the image does not build"
  }
  local base venv models
  base=$(size "$(awk '$1 == "FROM" { print $2; exit }' Dockerfile)")
  venv=$(run du -s -B 1000000 /opt/venv | cut -f 1)
  models=$(run du -s -B 1000000 /models | cut -f 1)
  say "built with hashes: $(size "$image") MB: base $base, packages $venv, models $models"
  [ "$(label version)" = "$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)" ] ||
    fail "the label has another version than pyproject.toml"
}

size() { echo $(($(docker image inspect -f '{{.Size}}' "$1") / 1000000)); }
label() { docker image inspect -f "{{index .Config.Labels \"org.opencontainers.image.$1\"}}" "$image"; }
run() { docker run --rm --network none --read-only --tmpfs /tmp --entrypoint "$1" "$image" "${@:2}"; }

healthy() { # name of a container
  for _ in $(seq 300); do
    case $(docker inspect -f '{{.State.Health.Status}}' "$1") in
      healthy) return ;;
      unhealthy) break ;;
    esac
    sleep 1
  done
  docker logs "$1" 2>&1 | tail -n 20
  fail "$1 is not healthy"
}

alone() {
  docker run -d --name "$name" --network none --read-only --tmpfs /tmp --cap-drop ALL \
    --security-opt no-new-privileges --memory 4g --pids-limit 512 "$image" >/dev/null
  healthy "$name"
  [ "$(docker exec "$name" id -u)" = 10001 ] || fail "the image does not run as user 10001"
  docker exec "$name" touch /app/x 2>/dev/null && fail "the root file system can be written"
  say "healthy with no network, read-only, without capabilities, as user 10001"
  docker exec "$name" python -c '
import attention_lab as lab
text = "The animal didn\x27t cross the street because it was too tired."
for model, site, head in ("minilm", "encoder.3.self", 1), ("smollm2", "decoder.13.self", 8):
    trace = lab.trace(lab.load(model), text)
    words = [token.text.strip() for token in trace.tokens]
    weight = trace[site].weights[head][words.index("it"), words.index("animal")]
    print(f"{model} {site} head {head}: it -> animal {weight:.3f}")
    assert weight > 0.6
' || fail "a model in the image does not give its numbers"
  say "both pulled models are in the image and give their numbers"
  docker exec "$name" python -c '
from streamlit.testing.v1 import AppTest
page = AppTest.from_file("/app/app.py", default_timeout=300).run()
assert not page.exception, page.exception
assert page.get("plotly_chart"), "the front page has no picture"
' 2>"$work/page.log" || { cat "$work/page.log"; fail "the front page does not run in the image"; }
  say "the front page runs and has its picture"
  stops
}

stops() {
  local before=$SECONDS code
  docker stop -t 30 "$name" >/dev/null
  code=$(docker inspect -f '{{.State.ExitCode}}' "$name")
  [ "$code" = 0 ] || fail "the app ends with exit code $code"
  docker rm "$name" >/dev/null
  say "SIGTERM: ended in $((SECONDS - before)) s with exit code 0"
}

command_line() {
  docker run --rm --network none --read-only --tmpfs /tmp "$image" models list |
    grep -c -E 'pulled|bundled' | grep -qx 3 || fail "docker run attention-lab models list"
  [ "$(docker run --rm --network none "$image" python -c 'print(6 * 7)')" = 42 ] ||
    fail "docker run attention-lab python"
  say "the same image is the command line: models list, python"
}

one_service() {
  compose up -d --no-build --pull never --wait --wait-timeout 300 >"$work/compose.log" 2>&1 || {
    cat "$work/compose.log"
    compose logs | tail -n 20
    fail "compose does not come up"
  }
  python3 -c "import urllib.request as u; u.urlopen('http://localhost:$port/_stcore/health', timeout=60)"
  compose down -t 10 >/dev/null 2>&1
  say "compose up: the app answers on its port"
}
