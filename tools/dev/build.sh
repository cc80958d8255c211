# shellcheck shell=bash

dev_build() {
  local preset=${1:-release}
  [[ $# -gt 0 ]] && shift
  cmake --list-presets 2>/dev/null | grep -q "\"$preset\"" ||
    die "there is no preset '$preset': use release, dev, tsan, clang or fuzz"
  build_preset "$preset" "$@"
}
