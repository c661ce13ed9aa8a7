#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src"
inputs=""

build "$@"
