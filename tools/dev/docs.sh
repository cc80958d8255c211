# shellcheck shell=bash

dev_docs() {
  mkdir -p build/docs
  GODWIT_VERSION=$(sed -n 's/^project(godwit VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt) \
    doxygen docs/Doxyfile
  echo "docs: build/docs/html/index.html"
}
