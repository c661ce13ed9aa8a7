#!/bin/sh
# build.sh [host|armel|arm64]: makes build/ (host) or build/TARGET/: gsoap (no security, no OpenSSL: stand-alone and CGI), gsoap-tls, gsoap-wss. gSOAP's own
# code is generated here and never kept: the programs are under its license, the GPL. For ARM the programs are static and the libraries come from
# SYSROOT, a folder of unpacked Debian packages of that architecture; without one it is fetched by apt-get download into .cache/sysroot.
set -eu
cd "$(dirname "$0")"
target=${1:-host}
. ../c-common/cross.sh
out=build; [ "$target" = host ] || out=build/$target
G=/usr/share/gsoap
plain="-DWITH_IPV6 -DWITH_DOM"; tls="$plain -DWITH_OPENSSL -DWITH_GZIP" # as in gsoap*.pc: they are the library's ABI
cross "$target" libgsoap-dev libssl-dev zlib1g-dev
mkdir -p "$out" build/generated/plain build/generated/wss

soapcpp2 -c -L -x -I$G/import -dbuild/generated/plain src/services.h >build/soapcpp2.log 2>&1 || { cat build/soapcpp2.log >&2; exit 1; }
{ echo '#import "wsse.h"'; cat src/services.h; } >build/generated/wss.h
soapcpp2 -c -L -x -I$G/import:$G -dbuild/generated/wss build/generated/wss.h >build/soapcpp2.log 2>&1 || { cat build/soapcpp2.log >&2; exit 1; }

common="../c-common/json.c ../c-common/message.c ../c-common/digest.c ../c-common/sensor.c ../c-common/program.c"
ours="src/wire.c src/server.c src/client.c src/cgi.c src/main.c src/namespaces.c"
make_one() { # NAME GENERATED FLAGS -- SOURCES -- LIBRARIES
  name=$1 generated=build/generated/$2 flags=$3; shift 3
  mkdir -p "build/object/$target/$name"
  objects=
  for f in $common $ours "$generated"/soapC.c "$generated"/soapServer.c "$generated"/soapClient.c $1; do
    o=build/object/$target/$name/$(basename "$f" .c).o
    case $f in $common_glob|src/*) warn="-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror" ;; *) warn=-w ;; esac
    $CC -std=gnu11 -O2 -g0 $warn -D_GNU_SOURCE $flags -Isrc -I../c-common -I"$generated" -I$G/plugin -I$G -c "$f" -o "$o"
    objects="$objects $o"
  done
  $CC $STATIC -o "$out/$name" $objects $2 -lpthread -lm
}
common_glob="../c-common/*"
make_one gsoap plain "$plain" "src/security.c" -lgsoap
make_one gsoap-tls plain "$tls" "src/security.c src/tls.c" "-lgsoapssl -lssl -lcrypto -lz $ATOMIC"
make_one gsoap-wss wss "$tls" "src/wss.c src/replay.c $G/plugin/wsseapi.c $G/plugin/smdevp.c $G/plugin/mecevp.c $G/custom/struct_timeval.c" "-lgsoapssl -lssl -lcrypto -lz $ATOMIC"
