# Finds what tests left behind: processes, shared memory, temporary files.
# shellcheck shell=bash disable=SC2001,SC2015,SC2154

# One line per thing that is there now. Processes are those named godwit* or built by a preset.
list_resources() {
  local process name exe built="^$root/build/((dev|tsan|clang|fuzz)/)?bin/"
  for process in /proc/[0-9]*; do
    name=$(cat "$process/comm" 2>/dev/null) || continue
    exe=$(readlink "$process/exe" 2>/dev/null) || exe=""
    if [[ $name == godwit* || $exe =~ $built ]]; then
      echo "process ${process#/proc/} ($name)"
    fi
  done
  local pattern
  for pattern in /dev/shm/* "${TMPDIR:-/tmp}"/godwit* /tmp/godwit* /tmp/perf-*.map \
    "${XDG_RUNTIME_DIR:-/run/user/$(id -u)}"/godwit* "${HOME:-/root}"/.cache/godwit/*; do
    [[ -e $pattern || -L $pattern ]] && echo "file $pattern"
  done
  return 0
}

# check_leftovers BEFORE: compares with an earlier list_resources; what is on its way out gets time.
check_leftovers() {
  local before=$1 left deadline=$((SECONDS + 5))
  while true; do
    left=$(comm -13 <(sort -u <<<"$before") <(list_resources | sort -u))
    [[ -z $left ]] && return 0
    ((SECONDS < deadline)) || break
    sleep 0.2
  done
  echo "left behind:" >&2
  sed 's/^/  /' <<<"$left" >&2
  return 1
}
