# shellcheck shell=bash

dev_demo() {
  local program=build/bin/demo${1:+_$1}
  [[ $# -gt 0 ]] && shift
  build_preset release
  [[ -x $program ]] || die "there is no $program; demos are: $(cd build/bin && echo demo*)"
  exec "$program" "$@"
}
