#!/usr/bin/env bash
# scripts/check, in a tree of its own whose scripts and tools only note how they were called.
# shellcheck source-path=SCRIPTDIR source=support.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/support.bash"

tree="$scratch/a tree"
export calls="$scratch/calls"
export PATH="$scratch/bin:$PATH"
unset ELLICE_SEED
mkdir -p "$tree"/{scripts,src/core,apps}
touch "$tree/src/core/json.cpp"
cp "$source_dir/scripts/check" "$tree/scripts/check"

# A program that notes its call and the seeds, and fails where the variable `break` begins its call.
note='echo "${0##*/} $*${ELLICE_SEED:+ (seed $ELLICE_SEED)}" >>"$calls"
[[ -z ${break-} || "${0##*/} $*" != "$break"* ]]'
for program in cmake ctest clang-tidy; do stub "$program" <<<"$note"; done
for script in test package; do printf '%s\n' '#!/usr/bin/env bash' "$note" >"$tree/scripts/$script"; done
printf '%s\n' '#!/usr/bin/env bash' 'echo TESTS' >"$tree/scripts/property_tests.py"
mkdir -p "$tree/build/release/tests/combination"
printf '%s\n' '#!/usr/bin/env bash' "$note" >"$tree/build/release/tests/combination/audits"
chmod +x "$tree"/scripts/* "$tree/build/release/tests/combination/audits"

check() { : >"$calls"; run "$tree/scripts/check" "$@"; }
results() { sed -n 's/  *[0-9]* min$//p' <<<"$output" | sed 's/  */ /'; }

check
expect_equal 'all is well' "$status" 0
expect_equal 'every stage is in the table' "$(results)" "$(printf '%s\n' 'test passed' 'asan passed' 'tsan passed' \
  'release passed' 'tidy passed' 'property passed' 'audits passed' 'fuzz skipped' 'package passed')"
expect_equal 'what scripts/test does comes first' "$(head -n 1 "$calls")" 'test '
expect_equal 'all tests run under three presets' "$(grep -c '^ctest --preset [a-z]* -j [0-9]*\( (seed [0-9]*)\)\?$' "$calls")" 3
expect_equal 'five rounds of properties' "$(grep -c -- '-R TESTS' "$calls")" 5
expect_contains 'combinations among them' "$(<"$calls")" '-R TESTS|^combination\.part'
expect_equal 'each with other seeds' "$(grep -e '-R TESTS' "$calls" | sort -u | wc -l)" 5
expect_contains 'the package is tried out' "$(<"$calls")" 'package --check'

break='ctest --preset tsan' check
expect_equal 'a stage that fails is status 1' "$status" 1
expect_contains 'the table names it' "$(results)" 'tsan FAILED'
expect_contains 'the others are run' "$(results)" 'package passed'
break='cmake --build --preset asan' check asan
expect_equal 'a build that fails is a failure' "$status" 1
expect_equal 'and is not tested' "$(grep -c ctest "$calls")" 0
mkdir -p "$tree"/build/tidy/CMakeFiles/ellice.dir/Unity
touch "$tree"/build/tidy/CMakeFiles/ellice.dir/Unity/unity_core_0_cxx.cxx
break=clang-tidy check tidy
expect_equal 'so is a finding of clang-tidy' "$(results)" 'tidy FAILED'
break='ctest --preset release' check property
expect_equal 'and a property that does not hold' "$(results)" 'property FAILED'

ELLICE_SEED=7 check --rounds 2 property
expect_equal 'seeds and rounds can be chosen' "$(grep -o 'seed [0-9]*' "$calls")" 'seed 7'$'\n''seed 1000007'
expect_equal 'only the named stage is run' "$(results)" 'property passed'
ELLICE_SEED=7 check --long --rounds 3 property
expect_equal '--rounds goes before --long' "$(grep -c 'seed' "$calls")" 3
ELLICE_SEED=7 check test tsan
expect_equal 'fixed seeds where nothing else is said' "$(grep -c seed "$calls")" 0

printf '%s\n' '#!/usr/bin/env bash' "$note" >"$tree/scripts/fuzz"
chmod +x "$tree/scripts/fuzz"
check fuzz
expect_equal 'fuzz targets run for half a minute' "$(<"$calls")" 'fuzz 30'
check --long fuzz
expect_equal 'or an hour' "$(<"$calls")" 'fuzz 3600'

for wrong in --nonsense nonsense '--rounds 0' --rounds '--rounds x'; do
  # shellcheck disable=SC2086  # two words are two arguments
  check $wrong
  expect_equal "$wrong is wrong usage" "$status" 2
  expect_equal "$wrong runs nothing" "$(<"$calls")" ''
done
check --help
expect_contains '--help explains' "$output" 'usage: scripts/check'

finish
