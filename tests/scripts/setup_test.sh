#!/usr/bin/env bash
# scripts/setup with a package manager that only notes how it was called. PATH holds the stand-ins and a
# few real tools, so that "there is no sudo" can be said too.
# shellcheck source-path=SCRIPTDIR source=support.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/support.bash"

export calls="$scratch/calls" package_list="$scratch/package_list"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
tree=$scratch/tree
mkdir -p "$tree/scripts/hooks" "$scratch/bin"
cp "$source_dir/scripts/setup" "$tree/scripts/setup"
for tool in bash cat dirname env git grep head ln mkdir readlink sed sort; do
  ln -s "$(command -v "$tool")" "$scratch/bin/$tool"
done

stub dpkg-query <<'STUB'
for package in "${@:4}"; do
  if grep -qx -- "$package" "$package_list"; then echo "$package installed"; else echo "$package not-installed"; fi
done
STUB
stub apt-get <<'STUB'
echo "apt-get $*" >>"$calls"
[[ $DEBIAN_FRONTEND == noninteractive ]] || exit 9
[[ $* == *' install '* ]] || exit 0
for word in "$@"; do [[ $word != "${unavailable-}" ]] || exit 100; done
all=$*
printf '%s\n' ${all##*--no-install-recommends } >>"$package_list"
STUB
stub id <<'STUB'
echo "${user-0}"
STUB
stub cmake <<'STUB'
echo "cmake version ${cmake_version-3.25.1}"
STUB
stub python3 <<'STUB'
echo "python3 $*" >>"$calls"
[[ -z ${offline-} ]] || exit 1
[[ $2 == venv ]] || exit 0
mkdir -p "$4/bin"
ln -sf "$0" "$4/bin/python"
STUB
make_sudo() {
  stub sudo <<'STUB'
echo sudo >>"$calls"
exec "$@"
STUB
}

setup() { run env PATH="$scratch/bin" CI="${ci-}" "$tree/scripts/setup" "$@"; }
# The packages that apt-get was asked to install, call by call.
asked() { sed -n 's/^apt-get .*--no-install-recommends //p' "$calls"; }
forget() { : >"$calls"; }

# A first run on an empty machine tells which packages there are.
: >"$package_list"
forget
setup --runtime
expect_equal 'an empty machine can be set up' "$status" 0
expect_equal 'with one update' "$(grep -c ' update$' "$calls")" 1
expect_equal 'and one installation' "$(grep -c ' install ' "$calls")" 1
expect_equal 'without tests and lint' "$(asked | grep -c -e gtest -e clang)" 0
setup --package
expect_contains 'packaging has needs of its own' "$(asked)" debootstrap
setup
expect_contains 'the default adds the tests' "$(asked)" libgtest-dev
expect_equal 'and works' "$status" 0

forget
setup
expect_equal 'when nothing is missing it succeeds' "$status" 0
expect_equal 'and calls no apt-get' "$(<"$calls")" ''
expect_equal 'and says nothing' "$output$messages" ''

cp "$package_list" "$scratch/everything"
remove() { grep -vx "$(printf '%s\\|' "$@")-" "$scratch/everything" >"$package_list"; forget; }

remove libfmt-dev ccache
setup
expect_equal 'it installs just what is missing' "$(asked)" 'libfmt-dev ccache'

remove libfmt-dev
user=1000 setup
expect_equal 'without root and sudo it fails' "$status" 1
expect_contains 'and says what to ask for' "$messages" 'apt-get install --no-install-recommends libfmt-dev'
expect_equal 'and does nothing' "$(<"$calls")" ''

make_sudo
user=1000 setup
expect_equal 'without root it uses sudo' "$(head -n 1 "$calls")" sudo
expect_equal 'and succeeds' "$status" 0

remove libfmt-dev ccache libgtest-dev
unavailable=ccache setup
expect_equal 'a package that cannot be had is status 1' "$status" 1
expect_equal 'it is named, alone' "$(grep 'could not install' <<<"$messages")" 'setup: could not install: ccache'
expect_equal 'the others are installed' "$(grep -cx -e libfmt-dev -e libgtest-dev "$package_list")" 2

cp "$scratch/everything" "$package_list"
cmake_version=3.22.1 setup
expect_equal 'an old CMake is status 1' "$status" 1
expect_contains 'and named' "$messages" 'CMake 3.25 or newer is needed, found 3.22.1'
cmake_version=4.0.0 setup
expect_equal 'a newer CMake will do' "$status" 0

mkdir -p "$tree/python"
echo 'numpy==1.2.3' >"$tree/python/requirements.txt"
environment() { grep '^python3 ' "$calls" || true; }
forget
setup --runtime
expect_equal 'who only runs the command gets no Python packages' "$(environment)" ''
offline=1 setup
expect_equal 'what cannot be had of them is no failure' "$status" 0
expect_contains 'but said' "$messages" 'the Python package is neither built nor tested'
forget
setup
expect_contains 'Python packages go into the build folder' "$(environment)" "python3 -m venv --clear $tree/build/venv"
expect_contains 'as they are pinned' "$(environment)" "--no-deps -r $tree/python/requirements.txt"
forget
offline=1 setup
expect_equal 'once' "$(environment)$messages" ''
echo 'numpy==1.2.4' >"$tree/python/requirements.txt"
setup
expect_contains 'and again when pins change' "$(environment)" 'pip install'

hooks() { git -C "$tree" config --get core.hooksPath || true; }
git init -q "$tree"
ci=true setup
expect_equal 'CI gets no hook' "$(hooks)" ''
setup --runtime
expect_equal 'who only runs the command gets no hook' "$(hooks)" ''
setup
expect_equal 'a checkout gets the hook' "$(hooks)" scripts/hooks
git -C "$tree" config core.hooksPath mine
setup
expect_equal 'hooks that someone chose stay' "$(hooks)" mine

setup --help
expect_contains '--help explains' "$output" 'usage: scripts/setup'
setup --nonsense
expect_equal 'an unknown option is status 2' "$status" 2

finish
