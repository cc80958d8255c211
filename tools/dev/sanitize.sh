# shellcheck shell=bash

# run_sanitizer asan|tsan [CTEST ARGUMENTS...]
run_sanitizer() {
  local kind=$1 preset=$1
  shift
  case $kind in
    asan) preset=dev ;;
    tsan) ;;
    *) die "there is no sanitizer run '$kind': use asan or tsan" ;;
  esac
  export_sanitizer_options
  build_preset "$preset" core_tests
  run_ctest "$preset" "$kind" -L core "$@"
}

dev_sanitize() {
  local kinds=() filter=() kind
  while [[ $# -gt 0 ]]; do
    case $1 in
      --filter)
        filter=(-R "${2:?--filter needs a regular expression}")
        shift
        ;;
      *) kinds+=("$1") ;;
    esac
    shift
  done
  [[ ${#kinds[@]} -gt 0 ]] || kinds=(asan tsan)
  for kind in "${kinds[@]}"; do run_sanitizer "$kind" -E "$LONG_TESTS" "${filter[@]}"; done
}
