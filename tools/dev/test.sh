# The stages of ./dev test. Each runs in a subshell, counts what it ran, and may not leave anything.
# shellcheck shell=bash

source tools/dev/leftovers.sh
source tools/dev/format.sh
source tools/dev/fuzz.sh
source tools/dev/sanitize.sh
source tools/dev/install_test.sh

ALL_STAGES=(checks release asan tsan smoke install fuzz)
# Fuzzers are built by another compiler, which alone takes minutes: they are for --long.
USUAL_STAGES=(checks release asan tsan smoke install)

# count PASSED FAILED: adds to this stage's tally.
count() { echo "$1 $2" >>"$TALLY"; }

# name_failure WHAT: for the summary, where it is found without the whole log.
name_failure() { echo "$1" >>"${TALLY%.tally}.failed"; }

# attempt LABEL COMMAND...: one thing that passes or fails, outside ctest.
attempt() {
  local label=$1
  shift
  if ("$@"); then
    count 1 0
  else
    echo "FAILED: $label" >&2
    count 0 1
    name_failure "$label"
  fi
}

# run_counted PRESET NAME [CTEST ARGUMENTS...]: ctest, with its cases in the tally.
run_counted() {
  local name=$2 tests failures skipped status=0
  rm -f "build/test/$name.xml"
  run_ctest "$@" || status=$?
  tests=$(junit_sum "$name" tests)
  failures=$(junit_sum "$name" failures)
  skipped=$(($(junit_sum "$name" skipped) + $(junit_sum "$name" disabled)))
  count $((tests - failures - skipped)) "$failures"
  ((failures == 0)) || name_failure "$(python3 tools/failed_tests.py "build/test/$name.xml")"
  # Something other than a test went wrong, for instance a test program that cannot start.
  if ((status != 0 && failures == 0)); then return "$status"; fi
}

# junit_sum NAME ATTRIBUTE: of the test suite's opening tag; 0 if ctest wrote none.
junit_sum() {
  local value=""
  [[ -f build/test/$1.xml ]] &&
    value=$(grep -m1 -A12 '<testsuite ' "build/test/$1.xml" | tr '\n' ' ' |
      sed -n "s/.*[[:space:]]$2=\"\([0-9]*\)\".*/\1/p")
  echo "${value:-0}"
}

stage_checks() {
  attempt "layout" dev_format --check
  attempt "layers" python3 tools/check_layers.py
  attempt "tidy" python3 tools/check_tidy.py
  attempt "tests of the checks" python3 tools/checks_test.py -q
  attempt "tests of the plots" python3 tools/plot_bench_test.py -q
}

stage_release() {
  build_preset release
  run_counted release release -LE smoke "${EXCLUDE_LONG[@]}" "${FILTER[@]}"
}

stage_asan() { stage_sanitizer asan; }
stage_tsan() { stage_sanitizer tsan; }
stage_sanitizer() {
  local preset=$1 targets=(core_tests) labels='^core$'
  [[ $1 == asan ]] && preset=dev
  # Whole fleets under a sanitizer take their time.
  ((${#EXCLUDE_LONG[@]} > 0)) ||
    targets+=(fleet_tests one_thread_tests) labels='^(core|fleet|one_thread)$'
  export_sanitizer_options
  build_preset "$preset" "${targets[@]}"
  run_counted "$preset" "$1" -L "$labels" -E "$LONG_TESTS" "${FILTER[@]}"
}

stage_fuzz() {
  local program
  build_fuzzers
  for program in "${FUZZERS[@]}"; do
    attempt "fuzzer $(basename "$program")" fuzz_one "$program" "$FUZZ_SECONDS"
  done
}

stage_smoke() {
  build_preset release
  run_counted release smoke -L smoke "${EXCLUDE_LONG[@]}"
}

stage_install() {
  build_preset release
  rm -rf build/test/install
  attempt "install" install_copy
  attempt "find_package" use_with_find_package
  attempt "pkg-config" use_with_pkg_config
  if has_cuda; then
    attempt "find_package with CUDA" use_cuda_with_find_package
  else
    say "skipped: find_package with CUDA, since this build found no nvcc"
  fi
}

# run_stage NAME: prints its output, appends one line to the summary.
run_stage() {
  local name=$1 status=0 before began=$SECONDS passed failed word=ok line
  TALLY=build/test/$name.tally
  : >"$TALLY"
  : >"${TALLY%.tally}.failed"
  say "$name"
  before=$(list_resources)
  set +e
  (
    set -euo pipefail
    "stage_$name"
  )
  status=$?
  set -e
  if ((status != 0)); then
    count 0 1
    name_failure "the stage ended with status $status"
  fi
  if ! check_leftovers "$before"; then
    count 0 1
    name_failure "something was left behind"
  fi
  read -r passed failed < <(awk '{p += $1; f += $2} END {print p + 0, f + 0}' "$TALLY")
  ((failed == 0)) || word=FAILED
  TOTAL_PASSED=$((TOTAL_PASSED + passed))
  TOTAL_FAILED=$((TOTAL_FAILED + failed))
  SUMMARY+=("$(printf '%-8s %-6s %5d passed %3d failed %5d s' "$name" "$word" "$passed" "$failed" \
    $((SECONDS - began)))")
  while IFS= read -r line; do SUMMARY+=("         $line"); done <"${TALLY%.tally}.failed"
}

dev_test() {
  local stages=() otherwise=("${USUAL_STAGES[@]}") name
  FILTER=() EXCLUDE_LONG=(-E "$LONG_TESTS") FUZZ_SECONDS=4 SUMMARY=() TOTAL_PASSED=0 TOTAL_FAILED=0
  while [[ $# -gt 0 ]]; do
    case $1 in
      --long)
        EXCLUDE_LONG=() FUZZ_SECONDS=60 otherwise=("${ALL_STAGES[@]}")
        with_benchmarks
        ;;
      --filter)
        FILTER=(-R "${2:?--filter needs a regular expression}")
        stages=(release asan tsan)
        shift
        ;;
      --stage)
        [[ " ${ALL_STAGES[*]} " == *" ${2:-} "* ]] ||
          die "there is no stage '${2:-}'; stages are: ${ALL_STAGES[*]}"
        stages+=("$2")
        shift
        ;;
      --ci) export CLICOLOR=0 TERM=dumb NINJA_STATUS="[%f/%t] " ;;
      *) die "test: unknown argument '$1'; see ./dev test --help" ;;
    esac
    shift
  done
  [[ ${#stages[@]} -gt 0 ]] || stages=("${otherwise[@]}")
  mkdir -p build/test
  for name in "${stages[@]}"; do run_stage "$name"; done
  echo
  printf '%s\n' "${SUMMARY[@]}"
  echo "$TOTAL_PASSED passed, $TOTAL_FAILED failed"
  ((TOTAL_FAILED == 0))
}
