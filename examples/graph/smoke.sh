#!/usr/bin/env bash
# The tutorial of docs/graph.md, as far as no fleet has to be started by hand: smoke.sh PATH_OF_GRAPH
set -euo pipefail
graph=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

"$graph" generate universities -o u1.nt
"$graph" load u1.nt -o u1.graph
for query in q1 q2 q3 q4 q5 q6 q7 q8 q9 q10; do
  rows=$("$graph" query u1.graph "$query" --count)
  echo "$query: $rows rows"
  [ "$rows" -gt 0 ]
done
"$graph" query u1.graph q9 --rows 3
"$graph" query u1.graph q2 --explain
"$graph" khop u1.graph http://university0.example/ --hops 2 --direction in --rows 3
"$graph" pagerank u1.graph --predicate ub:cites --top 3
"$graph" generate rmat --scale 12 -o r12.graph
"$graph" bfs r12.graph urn:rmat:0
"$graph" components r12.graph
"$graph" stats r12.graph
"$graph" compare u1.graph --rounds 1
"$graph" scaling r12.graph --nodes 1,2 --rounds 1 --json
