#!/usr/bin/env bash
# The session of docs/streams.md: streams_smoke.sh PATH_OF_GODWIT
set -euo pipefail
godwit=$1
folder=$(mktemp -d)
export GODWIT_RUNTIME_DIR=$folder/run XDG_CACHE_HOME=$folder/cache
trap '"$godwit" down || true; rm -rf "$folder"' EXIT
cd "$folder"

"$godwit" up 2
seq 1 5 | "$godwit" stream send numbers --key small
diff <("$godwit" stream recv numbers --count 2) <(seq 1 2)
"$godwit" stream recv numbers --count 1 --json
"$godwit" stream stat numbers
"$godwit" stream close numbers
diff <("$godwit" stream recv numbers) <(seq 4 5)

seq 1 200000 > lines.txt
"$godwit" stream send lines lines.txt --on n1 --close &
"$godwit" stream recv lines --on n1 | cmp - lines.txt
wait $!
head -c 3000000 /dev/urandom > frame.bin
"$godwit" stream send frames frame.bin --whole --key camera/7
"$godwit" stream recv frames --prefix camera/ --count 1 --raw | cmp - frame.bin
"$godwit" stream ls
"$godwit" stream rm frames
! "$godwit" stream stat frames
