#!/bin/sh
# build.sh [host|armel|arm64] [OUT [PROGRAM...]]: makes in build/ (host), build/TARGET/ or OUT: gsoap (no security, no OpenSSL: stand-alone and CGI), gsoap-tls, gsoap-wss. gSOAP's own
# code is generated here and never kept: the programs are under its license, the GPL. For ARM the programs are static and the libraries come from
# SYSROOT, a folder of unpacked Debian packages of that architecture; without one it is fetched by apt-get download into .cache/sysroot.
set -eu
cd "$(dirname "$0")"
target=${1:-host}
. ../c-common/cross.sh
out=build; [ "$target" = host ] || out=build/$target
out=${2:-$out}
[ $# -gt 2 ] && shift 2 || set -- gsoap gsoap-tls gsoap-wss
programs=$*
G=/usr/share/gsoap
plain="-DWITH_IPV6 -DWITH_DOM"; tls="$plain -DWITH_OPENSSL -DWITH_GZIP" # as in gsoap*.pc: they are the library's ABI
cross "$target" libgsoap-dev libssl-dev zlib1g-dev
mkdir -p "$out/generated/plain" "$out/generated/wss"

soapcpp2 -c -L -x -I$G/import -d"$out"/generated/plain src/services.h >"$out"/soapcpp2.log 2>&1 || { cat "$out"/soapcpp2.log >&2; exit 1; }
{ echo '#import "wsse.h"'; cat src/services.h; } >"$out"/generated/wss.h
soapcpp2 -c -L -x -I$G/import:$G -d"$out"/generated/wss "$out"/generated/wss.h >"$out"/soapcpp2.log 2>&1 || { cat "$out"/soapcpp2.log >&2; exit 1; }

common="../c-common/json.c ../c-common/message.c ../c-common/digest.c ../c-common/sensor.c ../c-common/program.c"
ours="src/wire.c src/server.c src/client.c src/cgi.c src/main.c src/namespaces.c"
make_one() { # NAME GENERATED FLAGS -- SOURCES -- LIBRARIES
  name=$1 generated=$out/generated/$2 flags=$3; shift 3
  case " $programs " in *" $name "*) ;; *) return 0 ;; esac
  mkdir -p "$out/object/$name"
  objects=
  for f in $common $ours "$generated"/soapC.c "$generated"/soapServer.c "$generated"/soapClient.c $1; do
    o=$out/object/$name/$(basename "$f" .c).o
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
