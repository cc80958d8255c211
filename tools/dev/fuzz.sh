# shellcheck shell=bash

# fuzz_one PROGRAM SECONDS
fuzz_one() {
  local program=$1 seconds=$2 name seeds=()
  name=$(basename "$program" _fuzzer)
  mkdir -p "build/fuzz/corpus/$name" build/fuzz/artifacts
  [[ -d fuzz/corpus/$name ]] && seeds=("fuzz/corpus/$name")
  say "fuzzing $name for $seconds s"
  if ! "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/artifacts/$name-" "build/fuzz/corpus/$name" "${seeds[@]}" \
    >"build/fuzz/$name.log" 2>&1; then
    tail -n 100 "build/fuzz/$name.log" >&2
    echo "fuzz: $name broke; repeat with: $program FILE, the file named above" >&2
    return 1
  fi
  grep -E 'number_of_executed_units|peak_rss_mb' "build/fuzz/$name.log"
}

# The fuzzers whose sources exist, built.
build_fuzzers() {
  FUZZERS=()
  local source
  build_preset fuzz fuzzers
  for source in fuzz/*_fuzzer.cpp; do
    [[ -f $source ]] && FUZZERS+=("build/fuzz/bin/$(basename "$source" .cpp)")
  done
  return 0
}

dev_fuzz() {
  local seconds=60 target="" program failed=0
  while [[ $# -gt 0 ]]; do
    case $1 in
      --seconds)
        seconds=${2:?--seconds needs a number}
        shift
        ;;
      *) target=$1 ;;
    esac
    shift
  done
  build_fuzzers
  [[ -z $target || -x build/fuzz/bin/${target}_fuzzer ]] ||
    die "there is no fuzzer '$target'; there are: ${FUZZERS[*]##*/}"
  for program in "${FUZZERS[@]}"; do
    [[ -z $target || $(basename "$program") == "${target}_fuzzer" ]] || continue
    fuzz_one "$program" "$seconds" || failed=1
  done
  return $failed
}
