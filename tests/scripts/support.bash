# Sourced by the tests of the shell scripts: a scratch folder, programs that stand in for real ones, and
# checks that name the fact that does not hold.
# shellcheck shell=bash disable=SC2034  # the variables are for the tests
set -euo pipefail

source_dir=$1
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
failures=0

# stub NAME: standard input becomes the program NAME, found before the real one.
stub() {
  mkdir -p "$scratch/bin"
  { echo '#!/usr/bin/env bash'; cat; } >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

# run COMMAND...: sets status, output (standard output) and messages (standard error).
run() {
  status=0
  "$@" >"$scratch/stdout" 2>"$scratch/stderr" || status=$?
  output=$(<"$scratch/stdout")
  messages=$(<"$scratch/stderr")
}

expect_equal() {  # FACT FOUND WANTED
  [[ $2 == "$3" ]] || report "$1" "$2" "$3"
}

expect_contains() {  # FACT TEXT PART
  [[ $2 == *"$3"* ]] || report "$1" "$2" "...$3..."
}

report() {
  printf 'FAILED: %s\n  found:  %s\n  wanted: %s\n' "$@" >&2
  failures=$((failures + 1))
}

finish() {
  ((failures == 0)) || exit 1
  echo 'all facts hold'
}
