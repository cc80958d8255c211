# What the commands of ./dev share. Sourced, with the repository as the working directory.
# shellcheck shell=bash disable=SC2001,SC2015,SC2154

die() {
  echo "dev: $*" >&2
  exit 1
}

say() { echo "== $*"; }

# Tests that run only when asked for: their name begins or ends with Long, or their suite's does.
# shellcheck disable=SC2034
LONG_TESTS='\.Long[A-Z]|Long(\.|$)'

# Names of tools/packages.txt that dpkg does not know as installed.
missing_packages() {
  local wanted installed
  wanted=$(sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' tools/packages.txt | sort -u)
  # dpkg-query fails if it knows nothing about one of them: that is what we want to hear.
  # shellcheck disable=SC2086
  installed=$(dpkg-query -W -f '${db:Status-Abbrev} ${Package}\n' $wanted 2>/dev/null |
    sed -n 's/^ii *//p' | sort -u) || true
  comm -23 <(echo "$wanted") <(echo "$installed")
}

ensure_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "dev: not a Debian system: expecting what tools/packages.txt lists to be installed" >&2
    return
  fi
  local missing as_root=()
  missing=$(missing_packages)
  [[ -z $missing ]] && return
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || die "these packages are missing, and installing them needs root" \
      "or sudo: $(echo "$missing" | tr '\n' ' ')"
    as_root=(sudo)
  fi
  say "installing $(echo "$missing" | tr '\n' ' ')"
  "${as_root[@]}" apt-get update -q
  # shellcheck disable=SC2086
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends $missing
}

# As many compilers at once as cores, but no more than memory holds (about 1.5 GiB each).
job_count() {
  local cores memory_mib by_memory
  cores=$(nproc)
  memory_mib=$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
  by_memory=$((memory_mib / 1536))
  ((by_memory < 1)) && by_memory=1
  echo "${GODWIT_JOBS:-$((cores < by_memory ? cores : by_memory))}"
}

# One test more than cores, unless somebody says how many: many wait for others most of the time.
test_count() { echo "${GODWIT_JOBS:-$(($(job_count) + 1))}"; }

preset_folder() {
  if [[ $1 == release ]]; then echo build; else echo "build/$1"; fi
}

# ThreadSanitizer needs memory where address randomisation may put something else.
without_randomisation() {
  if [[ $1 == tsan ]] && setarch -R true 2>/dev/null; then echo "setarch -R"; fi
}

# What a folder that is configured for the first time gets beside its preset: many sources are compiled as
# one, in half the time, and linked with LLVM's linker, in a quarter. The preset clang sees each source
# alone, and that it includes what it needs. ccache must be told that precompiled headers are what they
# seem.
CONFIGURE_FLAGS=(-DGODWIT_PRECOMPILE=ON)
JOIN_FLAGS=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=16)
LLD_FOLDER=/usr/lib/llvm-19/bin
LLD_FLAG="-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -B$LLD_FOLDER"
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros}

# configure_preset PRESET [FLAG...]: the first time, or if there are flags.
configure_preset() {
  local preset=$1 folder flags=()
  shift
  folder=$(preset_folder "$preset")
  mkdir -p "$folder"
  if [[ ! -f $folder/build.ninja || CMakePresets.json -nt $folder/build.ninja ]]; then
    flags=("${CONFIGURE_FLAGS[@]}")
    [[ $preset == clang ]] || flags+=("${JOIN_FLAGS[@]}")
    [[ -x $LLD_FOLDER/ld.lld ]] && flags+=("$LLD_FLAG")
    # A sixth of a release build: who wants them says so.
    [[ $preset == release ]] && flags+=(-DGODWIT_BUILD_BENCH=OFF)
  elif [[ $# == 0 ]]; then
    return
  fi
  cmake --preset "$preset" "${flags[@]}" "$@" >"$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log" >&2
    die "configuring the preset '$preset' failed"
  }
}

# From here on the release folder has the benchmarks, too.
with_benchmarks() {
  grep -qs '^GODWIT_BUILD_BENCH:BOOL=ON' build/CMakeCache.txt ||
    configure_preset release -DGODWIT_BUILD_BENCH=ON
}

# build_preset PRESET [TARGET...]; ninja itself notices changed CMake files.
build_preset() {
  local preset=$1 folder free_mib targets=()
  shift
  folder=$(preset_folder "$preset")
  mkdir -p "$folder"
  free_mib=$(df -Pm "$folder" | awk 'NR == 2 {print $4}')
  ((free_mib > 2048)) || die "only $free_mib MiB are free for $folder; a build needs about 2 GiB"
  configure_preset "$preset"
  [[ $# -gt 0 ]] && targets=(--target "$@")
  # shellcheck disable=SC2046
  $(without_randomisation "$preset") cmake --build "$folder" -j "$(job_count)" "${targets[@]}"
}

# run_ctest PRESET NAME [CTEST ARGUMENTS...]: JUnit results go to build/test/NAME.xml.
run_ctest() {
  local preset=$1 name=$2
  shift 2
  mkdir -p build/test
  # shellcheck disable=SC2046
  $(without_randomisation "$preset") ctest --test-dir "$(preset_folder "$preset")" \
    -j "$(test_count)" --output-on-failure --no-tests=ignore \
    --output-junit "$root/build/test/$name.xml" "$@"
}

# Options with which sanitized programs run; what the caller's environment sets comes last and wins.
export_sanitizer_options() {
  # The leak checker keeps a record of thread-locals in libraries that are opened late (the JIT
  # plug-in); at times it is wrong, and reading it ends the test after it has passed.
  export ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1:intercept_tls_get_addr=0:${ASAN_OPTIONS:-}"
  export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"
  export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1:suppressions=$root/tools/tsan.supp:${TSAN_OPTIONS:-}"
}
