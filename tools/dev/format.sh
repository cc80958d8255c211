# shellcheck shell=bash

dev_format() {
  local files
  mapfile -t files < <(git ls-files --cached --others --exclude-standard -- \
    '*.hpp' '*.cpp' '*.h' '*.c' '*.cu' '*.cuh' | while read -r file; do [[ -f $file ]] && echo "$file"; done)
  [[ ${#files[@]} -gt 0 ]] || return 0
  if [[ ${1:-} == --check ]]; then
    printf '%s\0' "${files[@]}" |
      xargs -0 -P "$(job_count)" -n 16 clang-format-19 --dry-run -Werror ||
      die "some files are laid out differently; ./dev format rewrites them"
    echo "format: ok"
  else
    printf '%s\0' "${files[@]}" | xargs -0 -P "$(job_count)" -n 16 clang-format-19 -i
  fi
}
