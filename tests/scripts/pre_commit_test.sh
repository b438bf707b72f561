#!/usr/bin/env bash
# The pre-commit hook in a repository of its own.
# shellcheck source-path=SCRIPTDIR source=support.bash
source "$(dirname -- "${BASH_SOURCE[0]}")/support.bash"

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE
mkdir -p "$scratch/tree/src/core"
cd -- "$scratch/tree"
git init -q .
git config user.name tester
git config user.email tester@example.org
git config core.hooksPath scripts/hooks
cp -r "$source_dir/scripts" "$source_dir/.clang-format" .

commit() { git add -A && run git commit -q -m "Try"; }
restore() { git reset -q --hard; }

echo 'int one = 1;' >src/core/one.cpp
commit
expect_equal 'a clean change is taken' "$status" 0

echo '#include "ellice/study/plan.hpp"' >src/core/one.cpp
commit
expect_equal 'a breach of the layering is refused' "$status" 1
expect_contains 'and named' "$messages" 'src/core/one.cpp:1'
restore

head -c 1048577 /dev/zero >'big file.bin'
commit
expect_equal 'a file over 1 MB is refused' "$status" 1
expect_contains 'and named' "$messages" 'big file.bin has 1048577 bytes'
restore

if [[ $(clang-format --version 2>/dev/null) == *' 14.'* ]]; then
  echo 'int  one=1 ;' >src/core/one.cpp
  git add -A
  echo 'int one = 2;' >src/core/one.cpp  # what is staged counts, not what lies there
  run git commit -q -m "Try"
  expect_equal 'an unformatted file is refused' "$status" 1
  expect_contains 'and named' "$messages" 'src/core/one.cpp is not formatted'
fi

finish
