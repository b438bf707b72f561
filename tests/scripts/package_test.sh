#!/usr/bin/env bash
# scripts/package, in a tree of its own with tools that only note how they were called, or make empty files.
# shellcheck source-path=SCRIPTDIR source=support.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/support.bash"

tree="$scratch/a tree"
export calls="$scratch/calls" system="$scratch/system"
export PATH="$scratch/bin:$PATH"
mkdir -p "$tree/scripts" "$system"
cp "$source_dir/scripts/package" "$tree/scripts/package"
printf '%s\n' '#!/usr/bin/env bash' 'echo "setup $*" >>"$calls"' >"$tree/scripts/setup"
chmod +x "$tree/scripts/setup"
echo 'fmt' >"$system/libfmt.so.9.1.0"
ln -s libfmt.so.9.1.0 "$system/libfmt.so.9"
echo 'blas' >"$system/libopenblas.so.0"

stub cmake <<'STUB'
echo "cmake $*" >>"$calls"
case $1 in
  --preset)
    mkdir -p build/package/apps/cli
    echo 'CMAKE_PROJECT_VERSION:STATIC=1.2.3' >build/package/CMakeCache.txt
    touch build/package/apps/cli/ellice{,-study}
    ;;
  --install) mkdir -p "$4/bin"; touch "$4"/bin/ellice{,-study} ;;
esac
STUB
stub cpack <<'STUB'
echo "cpack $*" >>"$calls"
mkdir -p "${!#}"
touch "${!#}/ellice_1.2.3_amd64.deb"
STUB
stub ldd <<'STUB'
for program in "$@"; do
  printf '%s:\n' "$program"
  printf '\t%s (0x1)\n' 'linux-vdso.so.1' "libfmt.so.9 => $system/libfmt.so.9" "libopenblas.so.0 => ${blas-$system/libopenblas.so.0}" \
    'libm.so.6 => /lib/libm.so.6' 'libc.so.6 => /lib/libc.so.6' '/lib64/ld-linux-x86-64.so.2'
done
STUB
stub dpkg-query <<'STUB'
exit 1
STUB

package() { : >"$calls"; run "$tree/scripts/package" "$@"; }
made() { ls "$tree/build/package" | grep ^ellice; }
archive=ellice-1.2.3-linux-$(uname -m).tar.gz

package
expect_equal 'all is well' "$status" 0
expect_equal 'both are made, and nothing else stays' "$(made)" "$archive"$'\n''ellice_1.2.3_amd64.deb'
expect_equal 'the Debian package comes from a build without a path, the archive from one with it' \
  "$(grep -o -e 'RELOCATABLE=[A-Z]*' -e '^cpack' -e '^cmake --install' "$calls" | tr '\n' ' ')" \
  'RELOCATABLE=OFF cpack RELOCATABLE=ON cmake --install '
listing=$(tar --list --file "$tree/build/package/$archive" | grep -v '/$')
expect_equal 'the archive holds the programs and their libraries, the C library not among them' \
  "$(sed "s/^ellice-1.2.3-linux-$(uname -m).//" <<<"$listing" | sort | tr '\n' ' ')" \
  'bin/ellice bin/ellice-study lib/ellice/libfmt.so.9 lib/ellice/libopenblas.so.0 '
expect_equal 'a library is a file, by the name it is looked for' \
  "$(tar --extract --to-stdout --file "$tree/build/package/$archive" "${archive%.tar.gz}/lib/ellice/libfmt.so.9")" fmt

touch "$tree/build/package/ellice_0.9.0_amd64.deb"
package
expect_equal 'packages of another version go' "$(made)" "$archive"$'\n''ellice_1.2.3_amd64.deb'

blas='not found' package
expect_equal 'a library that is not there is a failure' "$status" 1
expect_contains 'and named' "$messages" libopenblas.so.0

stub id <<<'echo 1000'
package --check
expect_equal 'trying out needs root' "$status" 1
expect_equal 'and is refused before anything is built' "$(<"$calls")" ''

package --nonsense
expect_equal 'an unknown option is status 2' "$status" 2
expect_equal 'and builds nothing' "$(<"$calls")" ''
package --help
expect_contains '--help explains' "$output" 'usage: scripts/package'

finish
