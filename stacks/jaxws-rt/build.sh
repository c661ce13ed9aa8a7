#!/bin/sh
cd "$(dirname "$0")" && . ../java-common/build.sh

sources="src ../java-common/src ../java-common/jaxb"
inputs="../contract/services.wsdl ../contract/services.xsd"

# The client's proxy reads the contract, Metro its list of tubes.
generate() {
  cp -r src/META-INF ../contract/services.wsdl ../contract/services.xsd build/classes/
}

build "$@"
