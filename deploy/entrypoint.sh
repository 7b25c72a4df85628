#!/bin/sh
# In the image: `serve` and options of Streamlit start the app, a program of the image runs as it is,
# and anything else is a command of the package, such as `models list`.
set -eu
case ${1:-serve} in
  serve) [ $# = 0 ] || shift; exec python -m attention_lab.ui.serve "$@" ;;
  python | sh) exec "$@" ;;
  *) exec python -m attention_lab "$@" ;;
esac
