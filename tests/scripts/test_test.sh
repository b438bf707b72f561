#!/usr/bin/env bash
# scripts/test, in a tree of its own with a cmake and a ctest that only note how they were called.
# shellcheck source-path=SCRIPTDIR source=support.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/support.bash"

tree="$scratch/a tree"
export calls="$scratch/calls"
export PATH="$scratch/bin:$PATH"
mkdir -p "$tree/scripts"
cp "$source_dir/scripts/test" "$tree/scripts/test"
# shellcheck disable=SC2016  # expands when the stub runs
printf '%s\n' '#!/usr/bin/env bash' 'echo setup >>"$calls"' >"$tree/scripts/setup"
chmod +x "$tree/scripts/setup"
for program in cmake ctest; do
  stub "$program" <<'STUB'
echo "${0##*/} $*" >>"$calls"
[[ "${0##*/} $*" != "${break-}"* || -z ${break-} ]]
STUB
done
jobs=$(nproc)

stage() {  # PRESET: how the programs are called for it
  local python=''
  [[ $1 != dev ]] || python=" ${package--DELLICE_BUILD_PYTHON=OFF}${batches-}"
  printf '%s\n' "cmake --preset $1 --log-level=WARNING$python" "cmake --build --preset $1 -j $jobs" "ctest --preset $1 -j $jobs"
}
test_script() { : >"$calls"; run "$tree/scripts/test" "$@"; }

batches=' -DELLICE_UNITY=ON'
test_script
expect_equal 'all is well' "$status" 0
expect_equal 'it sets up, then builds and tests, with sanitizers as well' "$(<"$calls")" \
  "setup"$'\n'"$(stage dev)"$'\n'"$(stage quick)"

batches=''
mkdir -p "$tree/build/dev"
touch "$tree/build/dev/CMakeCache.txt"  # what was built stays as it was chosen
test_script -R '^data\.'
expect_equal 'options are for ctest' "$(<"$calls")" "setup"$'\n'"$(stage dev) -R ^data\\."

mkdir -p "$tree/build/venv"
touch "$tree/build/venv/pins.txt"
test_script
package="-DELLICE_BUILD_PYTHON=ON -DPython_EXECUTABLE=$tree/build/venv/bin/python"
expect_equal 'with its environment the Python package is built, without sanitizers' "$(<"$calls")" \
  "setup"$'\n'"$(stage dev)"$'\n'"$(stage quick)"

break='ctest --preset dev' test_script
expect_equal 'a failed test is a failure' "$status" 1
expect_equal 'and ends the run' "$(tail -n 1 "$calls")" "ctest --preset dev -j $jobs"
break='ctest --preset quick' test_script
expect_equal 'so is one that fails with sanitizers' "$status" 1

finish
