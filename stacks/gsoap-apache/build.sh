#!/bin/sh
# Makes build/gsoap, the CGI (the program of ../gsoap, without OpenSSL: linking that costs each process 2.4 ms), and build/gsoap-apache, which runs Apache.
set -eu
cd "$(dirname "$0")"
mkdir -p build
../gsoap/build.sh host ../gsoap-apache/build gsoap
${CC:-cc} -std=gnu11 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -I../c-common -I../gsoap/src -o build/gsoap-apache \
  ../c-common/json.c ../c-common/message.c ../c-common/digest.c ../c-common/sensor.c ../c-common/program.c src/*.c -lpthread -lm
