# An installed copy, and strangers who use it: by find_package, by pkg-config, and with CUDA.
# shellcheck shell=bash disable=SC2001,SC2015,SC2154

install_prefix() { echo "$root/build/test/install/prefix"; }

install_copy() {
  mkdir -p build/test/install
  cmake --install build --prefix "$(install_prefix)" >build/test/install/install.log || {
    cat build/test/install/install.log >&2
    return 1
  }
}

use_with_find_package() {
  local folder=build/test/install/find_package
  cmake -S tests/install -B "$folder" -G Ninja -DCMAKE_PREFIX_PATH="$(install_prefix)" \
    >"$folder.log" 2>&1 && cmake --build "$folder" >>"$folder.log" 2>&1 || {
    cat "$folder.log" >&2
    return 1
  }
  GODWIT="$(install_prefix)/bin/godwit" "$folder/stranger" "$folder/kernels.gdw"
}

use_with_pkg_config() {
  local config flags
  config=$(find "$(install_prefix)" -name godwit.pc)
  flags=$(PKG_CONFIG_PATH=$(dirname "$config") pkg-config --cflags --libs godwit)
  # shellcheck disable=SC2086
  g++ -std=c++20 tests/install/stranger.cpp $flags \
    -Wl,-rpath,"$(dirname "$(dirname "$config")")" -o build/test/install/by_pkg_config
  "$(install_prefix)/bin/godwit" cc tests/install/kernels.cpp -o build/test/install/kernels.gdw
  GODWIT="$(install_prefix)/bin/godwit" build/test/install/by_pkg_config \
    build/test/install/kernels.gdw
}

has_cuda() { [[ -n $(find "$(install_prefix)" -name libgodwit_forward_cuda.a) ]]; }

# Links what the GPU's library needs, and is told that there is no GPU: so it runs anywhere.
use_cuda_with_find_package() {
  local folder=build/test/install/cuda
  cmake -S tests/install/cuda -B "$folder" -G Ninja -DCMAKE_PREFIX_PATH="$(install_prefix)" \
    >"$folder.log" 2>&1 && cmake --build "$folder" >>"$folder.log" 2>&1 || {
    cat "$folder.log" >&2
    return 1
  }
  CUDA_VISIBLE_DEVICES='' "$folder/cuda_stranger"
}
