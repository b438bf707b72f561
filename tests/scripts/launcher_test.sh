#!/usr/bin/env bash
# The launcher, in a tree of its own with a cmake that only notes how it was called.
# shellcheck source-path=SCRIPTDIR source=support.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/support.bash"

tree="$scratch/a tree"
export calls="$scratch/calls"
export PATH="$scratch/bin:$PATH"

stub cmake <<'STUB'
echo "cmake $*" >>"$calls"
if [[ $1 == --build ]]; then
  [[ -z ${break_build-} ]] || { echo '[1/2] Building'; echo 'error: no such thing'; exit 1; }
  echo '[1/2] Building'; echo '[2/2] Linking'
  mkdir -p build/release/apps/cli
  printf '%s\n' '#!/usr/bin/env bash' 'printf "<%s>" "$PWD" "$@"' 'exit "${code-0}"' >build/release/apps/cli/ellice
  chmod +x build/release/apps/cli/ellice
  [[ $* != *ellice_study_cli* ]] || cp build/release/apps/cli/ellice{,-study}
else
  [[ -z ${break_configure-} ]] || { echo 'CMake Error: no Eigen'; exit 1; }
  mkdir -p build/release
  touch build/release/build.ninja
  echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" >build/release/CMakeCache.txt
fi
STUB

plant_tree() {
  rm -rf -- "$tree" "$calls"
  mkdir -p "$tree"/{include/ellice,src/core,apps/cli,cmake,scripts}
  touch "$tree"/{CMakeLists.txt,CMakePresets.json,src/core/json.cpp}
  # shellcheck disable=SC2016  # expands when the stub runs
  printf '%s\n' '#!/usr/bin/env bash' 'echo "setup $*" >>"$calls"' 'echo noise' >"$tree/scripts/setup"
  chmod +x "$tree/scripts/setup"
  cp "$source_dir/ellice" "$tree/ellice"
  find "$tree" -exec touch -d '1 minute ago' {} +
}

configure='cmake --fresh --preset release -DELLICE_BUILD_TESTS=OFF -DELLICE_BUILD_BENCHMARKS=OFF -DELLICE_UNITY=ON'
build="cmake --build --preset release --target ellice_cli -j $(nproc)"
cd -- "$scratch"

plant_tree
run "$tree/ellice" train 'my data.csv' ''
expect_equal 'first use sets up, configures and builds' "$(<"$calls")" \
  "setup --runtime"$'\n'"$configure"$'\n'"$build"
expect_equal 'arguments arrive, and the working directory stays' "$output" "<$scratch><train><my data.csv><>"
expect_contains 'progress is on standard error' "$messages" 'ellice: building: 100 %'

rm "$calls"
code=4 run "$tree/ellice"
expect_equal 'the exit status is the program'\''s' "$status" 4
expect_equal 'a second start says nothing' "$messages" ''
expect_equal 'a second start builds nothing' "$(cat "$calls" 2>/dev/null)" ''

run "$tree/ellice" study plan.yaml
expect_equal 'the program of the studies is built when it is asked for' "$(<"$calls")" \
  "setup --runtime"$'\n'"${build/ellice_cli/ellice_cli ellice_study_cli}"
expect_equal 'and the program is run that hands over to it' "$output" "<$scratch><study><plan.yaml>"
rm "$calls"
run "$tree/ellice" evaluate
expect_equal 'and it is built once' "$(cat "$calls" 2>/dev/null)" ''

mkdir -p "$scratch/elsewhere"
ln -s "$tree/ellice" "$scratch/elsewhere/link"
cd -- "$scratch/elsewhere"
run ./link x
expect_equal 'it works through a link' "$output" "<$scratch/elsewhere><x>"

touch "$tree/src/core/json.cpp" -d '1 minute'
run "$tree/ellice"
expect_equal 'a newer source causes a build' "$(<"$calls")" "setup --runtime"$'\n'"$build"

plant_tree
run "$tree/ellice"
rm "$calls" "$tree/src/core/json.cpp"
touch "$tree/src/core" -d '1 minute'
run "$tree/ellice"
expect_equal 'a removed source causes a build' "$(<"$calls")" "setup --runtime"$'\n'"$build"

plant_tree
break_build=1 run "$tree/ellice"
expect_equal 'a failed build is status 1' "$status" 1
expect_contains 'a failed build shows the end of its log' "$messages" 'error: no such thing'
expect_contains 'a failed build says where the log is' "$messages" "the whole log: $tree/build/launcher.log"
expect_equal 'a failed build runs nothing' "$output" ''
run "$tree/ellice"
expect_equal 'the next start tries again' "$status" 0

plant_tree
break_configure=1 run "$tree/ellice"
expect_equal 'a failed configuration is status 1' "$status" 1
expect_contains 'a failed configuration shows why' "$messages" 'CMake Error: no Eigen'
rm "$calls"
run "$tree/ellice"
expect_equal 'after it, setup and configuration are tried again' "$(<"$calls")" \
  "setup --runtime"$'\n'"$configure"$'\n'"$build"

plant_tree
"$tree/ellice" 2>/dev/null >"$scratch/one" & first=$!
"$tree/ellice" 2>/dev/null >"$scratch/two" & second=$!
wait "$first" "$second"
expect_equal 'two first starts build once' "$(grep -c -- --build "$calls")" 1
expect_equal 'and both run' "$(cat "$scratch/one" "$scratch/two")" "<$PWD><$PWD>"

plant_tree
run "$tree/ellice"
rm "$calls"
mv "$tree" "$scratch/moved"
touch "$scratch/moved/src/core/json.cpp" -d '1 minute'
run "$scratch/moved/ellice"
expect_equal 'a moved tree is configured anew' "$(<"$calls")" \
  "setup --runtime"$'\n'"$configure"$'\n'"$build"

finish
