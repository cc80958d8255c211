# shellcheck shell=bash

dev_lint() {
  # Only what generates sources is built: clang-tidy needs the headers, not the objects.
  build_preset clang help >/dev/null
  local generated
  mapfile -t generated < <(ninja -C build/clang -t targets all |
    sed -n 's/^\([a-z_]*_files\): phony$/\1/p')
  [[ ${#generated[@]} == 0 ]] || build_preset clang "${generated[@]}"
  python3 tools/lint.py --build build/clang --jobs "$(job_count)" "$@"
}
