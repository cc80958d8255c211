# shellcheck shell=bash

dev_bench() {
  if [[ ${1:-} == plot ]]; then exec python3 tools/plot_bench.py "${@:2}"; fi
  with_benchmarks
  build_preset release
  if [[ $# == 0 || $1 == -* ]]; then exec build/bin/godwit bench "$@"; fi
  local name=$1 program
  shift
  for program in "build/bin/bench_$name" "build/bin/godwit-$name" "build/bin/$name"; do
    [[ -x $program ]] && exec "$program" "$@"
  done
  exec build/bin/godwit bench "$name" "$@"  # a suite of it, or its error
}
