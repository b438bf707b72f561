#!/usr/bin/env bash
# scripts/get-datasets against a repository made here; never against the network.
# Usage: get_datasets_test.sh SCRIPT
set -euo pipefail

script=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work/home
export XDG_CACHE_HOME=$work/cache
export GIT_CONFIG_NOSYSTEM=1
cache=$XDG_CACHE_HOME/ellice/datasets
mkdir -p "$HOME" "$work/repository/data/deep" "$work/repository/other"

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
run() { # output in $output, status in $status
  status=0
  output=$("$script" "$@" 2>&1) || status=$?
}
commit() {
  git -C "$work/repository" add -A
  git -C "$work/repository" -c user.name=test -c user.email=test@example.org -c commit.gpgsign=false \
    commit --quiet --message "$1"
}

run --help
[[ $status -eq 0 && $output == *Usage:* ]] || fail "--help: $status, $output"
run --wrong
[[ $status -eq 2 && $output == *Usage:* ]] || fail "an unknown option: $status"
run one two
[[ $status -eq 2 ]] || fail "two arguments: $status"
run "$work/absent"
[[ $status -eq 1 && $output == *"cannot clone"* ]] || fail "no repository: $status, $output"
[[ ! -e $cache ]] || fail "a failed clone made the cache folder"

git init --quiet "$work/repository"
# Both spellings, at any depth; one name with blanks in its folder; one file is not there yet.
mkdir -p "$work/repository/with blank"
for file in data/austrc.csv data/banknote_authentication.csv data/deep/compas.csv other/diabetes.csv \
  other/heloc.csv data/germanc.csv "with blank/iris_extended.csv" data/deep/parkinsons_updrs.csv; do
  printf 'a,b\n%s,1\n' "$(basename "$file")" >"$work/repository/$file"
done
commit "eight of nine"

run "$work/repository"
[[ $status -eq 1 ]] || fail "one data set is missing, but the status is $status"
[[ $output == *"missing  wine.csv or winequality.csv"* ]] || fail "the missing one is not named: $output"
[[ $output == *"found    german.csv  (data/germanc.csv)"* ]] || fail "a found one is not named: $output"
[[ $output == *"8 of 9 data sets"* ]] || fail "no count: $output"
cmp "$cache/german.csv" "$work/repository/data/germanc.csv" || fail "german.csv differs"
cmp "$cache/iris_extended.csv" "$work/repository/with blank/iris_extended.csv" || fail "iris differs"

printf 'a,b\nwine,1\n' >"$work/repository/other/winequality.csv"
printf 'a,b\nours,1\n' >"$work/repository/other/german.csv"
commit "all nine, german under both spellings"
run "$work/repository"
[[ $status -eq 0 && $output == *"9 of 9 data sets"* ]] || fail "all nine: $status, $output"
cmp "$cache/german.csv" "$work/repository/other/german.csv" || fail "our spelling does not come first"
[[ $(find "$cache" -type f | wc -l) -eq 9 ]] || fail "the cache holds other files: $(ls "$cache")"
echo "passed"
