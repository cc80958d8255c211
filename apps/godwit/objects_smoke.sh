#!/usr/bin/env bash
# The session of docs/objects.md: objects_smoke.sh PATH_OF_GODWIT
set -euo pipefail
godwit=$1
folder=$(mktemp -d)
export GODWIT_RUNTIME_DIR=$folder/run XDG_CACHE_HOME=$folder/cache
trap '"$godwit" down || true; rm -rf "$folder"' EXIT
cd "$folder"

"$godwit" up 2
head -c 10000017 /dev/urandom > model.bin
handle=$("$godwit" put model.bin --on n1 --name model)
echo "$handle"
date | "$godwit" put - --text --name now --lease 10m
"$godwit" get now
"$godwit" get model -o copy.bin
cmp model.bin copy.bin
"$godwit" get "$handle" --range 1000:2000 | cmp - <(tail -c +1001 model.bin | head -c 1000)
"$godwit" objects
"$godwit" stat model
"$godwit" explain model --measure
"$godwit" spread model --to all --keep 10m
"$godwit" evict model now
! "$godwit" get "$handle" -o copy.bin
