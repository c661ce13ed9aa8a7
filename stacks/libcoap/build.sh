#!/bin/sh
# build.sh [host|armel|arm64]: makes build/libcoap (host) or build/TARGET/libcoap, static; see ../c-common/cross.sh.
# libcoap itself is always linked in: the linker can change a call of it (src/suite.c) only then.
set -eu
cd "$(dirname "$0")"
target=${1:-host}
. ../c-common/cross.sh
out=build; [ "$target" = host ] || out=build/$target
mkdir -p "$out" build/generated
cross "$target" libcoap3-dev libprotobuf-c-dev libssl-dev
protoc-c --c_out=build/generated --proto_path=../contract ../contract/services.proto
warn="-std=gnu11 -O2 -Wall -Wextra -Wno-missing-field-initializers -Werror -D_GNU_SOURCE"
$CC $STATIC $warn -isystem build/generated -I../c-common -Isrc -o "$out/libcoap" ../c-common/json.c ../c-common/message.c ../c-common/digest.c \
  ../c-common/sensor.c ../c-common/program.c src/*.c build/generated/services.pb-c.c -Wl,--wrap=SSL_CTX_set_cipher_list,--wrap=SSL_set_cipher_list -l:libcoap-3-openssl.a -lprotobuf-c -lssl -lcrypto -lpthread -lm $ATOMIC
