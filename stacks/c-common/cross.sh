# Read by build.sh of the stacks in C. cross TARGET PACKAGES: sets CC, STATIC and ATOMIC for host, armel (ARM926, ARM1176: the soft-float baseline;
# armhf needs ARMv7 and dies there) or arm64. The libraries are Debian's for that architecture.
cross() {
  STATIC= ATOMIC=
  case $1 in
  host) CC=${CC:-cc}; return ;;
  armel) triplet=arm-linux-gnueabi ATOMIC="-ldl -latomic" ;;
  arm64) triplet=aarch64-linux-gnu ATOMIC=-ldl ;;
  *) echo "build.sh: no target $1; there are host, armel, arm64" >&2; exit 2 ;;
  esac
  command -v $triplet-gcc >/dev/null || { echo "build.sh: no $triplet-gcc; run: apt-get install gcc-$triplet" >&2; exit 1; }
  root=${SYSROOT:-$(cd ../.. && pwd)/.cache/sysroot/$1}
  arch=$1; shift
  [ -n "${SYSROOT:-}" ] || fetch "$arch" "$root" "$@"
  CC="$triplet-gcc -isystem $root/usr/include -isystem $root/usr/include/$triplet -L$root/usr/lib/$triplet"
  STATIC=-static
}

# fetch ARCH ROOT PACKAGES: unpacks packages of another architecture without adding it to this system.
fetch() {
  arch=$1 root=$2; shift 2
  mkdir -p "$root/.apt/lists/partial"
  for p in "$@"; do [ -f "$root/.apt/$p" ] || missing="${missing:-} $p"; done
  [ -n "${missing:-}" ] || return 0
  # The mirrors this system uses, and no others.
  options="-o Dir::State::lists=$root/.apt/lists -o APT::Architecture=$arch -o APT::Architectures::=$arch -o APT::Sandbox::User=root"
  ( cd "$root/.apt"
    apt-get -qq $options update
    for p in $missing; do
      apt-get -qq $options download "$p:$arch"
      dpkg-deb -x "$p"_*_"$arch".deb "$root"
      touch "$p"
    done ) >&2
}
