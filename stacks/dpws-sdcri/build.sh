#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src"
inputs="../contract/services.wsdl"
release=17

# The device serves the contract's WSDL.
generate() { cp ../contract/services.wsdl build/classes/; }

build "$@"
