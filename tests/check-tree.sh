#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Every refusal of scripts/check-tree.sh, word for word, on trees that hold just
# what it looks at.

cd "$(dirname "$0")/.." || exit 1

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

. tests/tap.sh
tree=$tmp/linux
bin=$tmp/bin
headers=

# The tools in a fresh PATH, where nothing of this machine is found but what the
# scripts themselves need.
tool()
{
	printf '#!/bin/sh\necho "%s"\n' "$2" > "$bin/$1"
	chmod +x "$bin/$1"
}

# A tree that will do: built by clang, as a user mode kernel is here.
good()
{
	rm -rf "$tree" "$bin"
	mkdir -p "$tree/include/config" "$tree/rust/helpers" "$bin"
	for name in awk cat env grep make sed sh test uname; do
		ln -s "$(command -v $name)" "$bin/$name"
	done
	tool rustc "rustc 1.95.0 (59807616e 2026-04-14)"
	tool bindgen "bindgen 0.73.2"
	tool clang-19 "Debian clang version 19.1.7 (3~deb12u1)"
	tool gcc "gcc (Debian 12.2.0-14) 12.2.0"

	printf 'VERSION = 7\nPATCHLEVEL = 3\n' > "$tree/Makefile"
	echo 7.3.4-test > "$tree/include/config/kernel.release"
	touch "$tree/.config" "$tree/Module.symvers"
	touch "$tree/rust/libkernel.rmeta" "$tree/rust/libcore.rmeta" "$tree/rust/libmacros.so"
	cat > "$tree/include/config/auto.conf" <<-EOF
		CONFIG_UML=y
		CONFIG_X86_64=y
		CONFIG_MODULES=y
		CONFIG_RUST=y
		CONFIG_PAGE_POOL=y
		CONFIG_CC_IS_CLANG=y
		CONFIG_LD_IS_LLD=y
		CONFIG_CC_VERSION_TEXT="Debian clang version 19.1.7 (3~deb12u1)"
		CONFIG_RUSTC_VERSION_TEXT="rustc 1.95.0 (59807616e 2026-04-14)"
		CONFIG_BINDGEN_VERSION_TEXT="bindgen 0.73.2"
	EOF
}

# The same, built by gcc, for arm64.
good_gcc()
{
	good
	sed -i -e '/UML\|X86\|CLANG\|LLD/d' \
		-e 's/^CONFIG_CC_VERSION_TEXT=.*/CONFIG_CC_VERSION_TEXT="aarch64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0"/' \
		"$tree/include/config/auto.conf"
	echo CONFIG_ARM64=y >> "$tree/include/config/auto.conf"
	tool aarch64-linux-gnu-gcc "aarch64-linux-gnu-gcc (Debian 12.2.0-14) 12.2.0"
}

unset_config()
{
	sed -i "/^CONFIG_$1=/d" "$tree/include/config/auto.conf"
}

# expect NAME STATUS STDOUT STDERR COMMAND...
expect()
{
	name=$1 want_status=$2 want_out=$3 want_err=$4
	shift 4
	out=$(PATH=$bin; "$@" 2>"$tmp/err")
	status=$?
	err=$(cat "$tmp/err")
	if [ "$status" = "$want_status" ] && [ "$out" = "$want_out" ] && [ "$err" = "$want_err" ]; then
		report y "$name"
		return
	fi
	report n "$name"
	printf '# status %s, expected %s\n' "$status" "$want_status"
	printf '%s\n%s\n' "$out" "$err" | sed 's/^/# got:      /'
	printf '%s\n%s\n' "$want_out" "$want_err" | sed 's/^/# expected: /'
}

# The environment's own ARCH and the like must not get in.
check()
{
	env -u ARCH -u LLVM -u CROSS_COMPILE -u CC -u RUSTC -u BINDGEN "$@" \
		scripts/check-tree.sh $headers "$tree"
}

# accepted NAME ARGUMENTS [VARIABLE=VALUE...]
accepted()
{
	name=$1 args=$2
	shift 2
	expect "$name" 0 "$args" "" check "$@"
}

# refused NAME SENTENCE [VARIABLE=VALUE...]
refused()
{
	name=$1 sentence=$2
	shift 2
	expect "$name" 1 "" "mvpp2-rs: $sentence." check "$@"
}

#
# What is accepted, and the arguments that follow from it.
#

good
accepted "a user mode kernel built by clang" "ARCH=um LLVM=-19"
accepted "LLVM given" "ARCH=um" LLVM=1
accepted "ARCH given" "ARCH=um LLVM=-19" ARCH=um
accepted "CC given" "ARCH=um" CC=clang-19
tool clang "Debian clang version 19.1.7 (3~deb12u1)"
accepted "clang is the default one" "ARCH=um LLVM=1"
unset_config LD_IS_LLD
accepted "clang with another linker" "ARCH=um CC=clang"

good
sed -i 's/CONFIG_UML=y/CONFIG_X86=y/' "$tree/include/config/auto.conf"
accepted "x86" "ARCH=x86 LLVM=-19"
accepted "x86 by its other name" "ARCH=x86_64 LLVM=-19" ARCH=x86_64

good_gcc
accepted "arm64 built by gcc" "ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-"
accepted "CROSS_COMPILE given" "ARCH=arm64" CROSS_COMPILE=aarch64-linux-gnu-
sed -i 's/"aarch64-linux-gnu-gcc/"gcc/' "$tree/include/config/auto.conf"
accepted "arm64 on arm64" "ARCH=arm64"

good
echo "include $tmp/source/Makefile" > "$tree/Makefile"
accepted "a Makefile that includes the kernel's" "ARCH=um LLVM=-19"
touch "$tree/rust/helpers/helpers_module.bc"
echo CONFIG_RUST_INLINE_HELPERS=y >> "$tree/include/config/auto.conf"
accepted "inline helpers with their bitcode" "ARCH=um LLVM=-19"

#
# What is not a built kernel.
#

good
rm -r "$tree"
refused "no such directory" \
	"$tree does not exist: set KDIR to the directory in which the kernel was built"
headers=--headers
refused "no headers of the running kernel" \
	"the running kernel's headers are not installed ($tree does not exist): name a kernel that you built with Rust: make KDIR=/path/to/linux"
headers=

mkdir "$tree"
refused "not a kernel tree" \
	"$tree is not a kernel tree: set KDIR to the directory in which the kernel was built"
echo 'all: ;' > "$tree/Makefile"
refused "a Makefile of something else" \
	"$tree is not a kernel tree: set KDIR to the directory in which the kernel was built"

good
rm -r "$tree/include" "$tree/.config" "$tree/rust" "$tree/Module.symvers"
refused "source that was not configured" \
	"$tree has no configuration: configure and build it with CONFIG_RUST=y, or, if that happened in another directory (O=), set KDIR to that one"
touch "$tree/.config"
refused "configured, not built" \
	"$tree is configured but not built: run make in it first"

good
rm "$tree/Module.symvers"
refused "built in part: no Module.symvers" \
	"$tree is configured but not built: run make in it first"
good
rm "$tree/include/config/kernel.release"
refused "built in part: no kernel.release" \
	"$tree is configured but not built: run make in it first"
good
rm "$tree/rust/libkernel.rmeta"
refused "headers without Rust metadata" \
	"$tree lacks rust/libkernel.rmeta, which building Rust modules needs and some header packages leave out: use the directory in which that kernel was built"
good
rm "$tree/rust/libmacros.so"
refused "headers without procedural macros" \
	"$tree lacks rust/libmacros.so, which building Rust modules needs and some header packages leave out: use the directory in which that kernel was built"
good
echo CONFIG_RUST_INLINE_HELPERS=y >> "$tree/include/config/auto.conf"
refused "inline helpers without their bitcode" \
	"$tree lacks rust/helpers/helpers_module.bc, which building Rust modules needs and some header packages leave out: use the directory in which that kernel was built"

#
# A kernel of another version or configuration.
#

for release in 6.12.48-deb13 7.2.9 7.4.0-rc1 8.0.0; do
	good
	echo $release > "$tree/include/config/kernel.release"
	refused "Linux $release" \
		"$tree is Linux $release, which these modules do not support: use Linux 7.3"
done
for release in 7.3.0 7.3.0-rc4+ 7.3-custom; do
	good
	echo $release > "$tree/include/config/kernel.release"
	accepted "Linux $release" "ARCH=um LLVM=-19"
done

good
unset_config MODULES
refused "without modules" \
	"$tree was built without CONFIG_MODULES: enable it and build the kernel again"
good
unset_config RUST
refused "without Rust" \
	"$tree was built without CONFIG_RUST: enable it (make rustavailable in the kernel says what it needs) and build the kernel again"
good
unset_config PAGE_POOL
refused "without page_pool" \
	"$tree was built without CONFIG_PAGE_POOL: enable a network driver that selects it, or CONFIG_BPF_SYSCALL, and build the kernel again"

#
# Other tools than the kernel was built with.
#

good
refused "another architecture" \
	"$tree was built for ARCH=um, not ARCH=x86_64: say ARCH=um" ARCH=x86_64
refused "gcc for a clang-built kernel" \
	"$tree was built by clang, but CC is gcc: say LLVM=-19" CC=gcc
rm "$bin/clang-19"
refused "clang missing" \
	"$tree was built by \"Debian clang version 19.1.7 (3~deb12u1)\", which is not installed: install clang-19 lld-19 llvm-19, or name another with LLVM="
good_gcc
refused "LLVM for a gcc-built kernel" \
	"$tree was built by gcc, but LLVM is set: do not set LLVM" LLVM=1
refused "clang for a gcc-built kernel" \
	"$tree was built by gcc, but CC is clang-19: do not set LLVM or CC" CC=clang-19
rm "$bin/aarch64-linux-gnu-gcc"
refused "cross compiler missing" \
	"$tree was built by aarch64-linux-gnu-gcc, which is not installed: install it, or name another with CROSS_COMPILE="

good
rm "$bin/rustc"
refused "rustc missing" \
	"there is no rustc: install \"rustc 1.95.0 (59807616e 2026-04-14)\", which built $tree, or name it with RUSTC=/path/to/rustc"
tool rustc "rustc 1.96.0 (ac68faa20 2026-05-25)"
refused "another rustc" \
	"$tree was built by \"rustc 1.95.0 (59807616e 2026-04-14)\", but rustc is \"rustc 1.96.0 (ac68faa20 2026-05-25)\": name the right one with RUSTC= (rustup which --toolchain 1.95.0 rustc prints its path), or build the kernel again with this one"
tool rustc-1.95 "rustc 1.95.0 (59807616e 2026-04-14)"
accepted "the right rustc by name" "ARCH=um LLVM=-19" RUSTC=rustc-1.95
tool rustc "rustc 1.95.0 (59807616e 2026-04-14) (built from a source tarball)"
refused "the same rustc of another build" \
	"$tree was built by \"rustc 1.95.0 (59807616e 2026-04-14)\", but rustc is \"rustc 1.95.0 (59807616e 2026-04-14) (built from a source tarball)\": name the right one with RUSTC= (rustup which --toolchain 1.95.0 rustc prints its path), or build the kernel again with this one"

good
rm "$bin/bindgen"
refused "bindgen missing" \
	"there is no bindgen: run cargo install --locked bindgen-cli@0.73.2, or name it with BINDGEN=/path/to/bindgen"
tool bindgen "bindgen 0.72.0"
refused "another bindgen" \
	"$tree was built with \"bindgen 0.73.2\", but bindgen is \"bindgen 0.72.0\": run cargo install --locked bindgen-cli@0.73.2, or name the right one with BINDGEN=/path/to/bindgen"
tool bindgen-0.73 "bindgen 0.73.2"
accepted "the right bindgen by name" "ARCH=um LLVM=-19" BINDGEN=bindgen-0.73

#
# Through make: the sentence, make's own line, and nothing compiled.
#

# Messages of make differ between its versions in all but these words.
make_says()
{
	out=$(PATH=$bin; env -u MAKEFLAGS -u ARCH -u LLVM make --no-print-directory "$@" 2>&1)
	status=$?
	echo "$out" | sed -e '/^make: \*\*\* \[.*\] Error [0-9]*$/d' -e 's/\.mk:[0-9]*:/.mk:/'
	return $status
}

good
unset_config RUST
expect "make stops at a refusal" 2 \
	"mvpp2-rs: $tree was built without CONFIG_RUST: enable it (make rustavailable in the kernel says what it needs) and build the kernel again." \
	"" make_says KDIR="$tree"
expect "make modules_install stops too" 2 \
	"mvpp2-rs: $tree was built without CONFIG_RUST: enable it (make rustavailable in the kernel says what it needs) and build the kernel again." \
	"" make_says KDIR="$tree" modules_install
expect "O= names the tree" 2 \
	"mvpp2-rs: $tree was built without CONFIG_RUST: enable it (make rustavailable in the kernel says what it needs) and build the kernel again." \
	"" make_says KDIR=/nowhere O="$tree"
good
rm "$bin/rustc"
tool rustc-1.95 "rustc 1.95.0 (59807616e 2026-04-14)"
# That tree has nothing to make, so an accepted one ends in make's own words.
expect "RUSTC goes through make" 2 "make[1]: *** No rule to make target 'modules'.  Stop." "" \
	make_says KDIR="$tree" RUSTC=rustc-1.95

# The fragment that a plain make -C KDIR M= reads, as Kbuild reads it.
cat > "$tree/Kbuild.test" <<-EOF
	include $PWD/scripts/check-tree.mk
	\$(info built)
	all: ; @:
EOF
plain()
{
	make_says -f "$tree/Kbuild.test" srcroot="$PWD" objtree="$tree" CONFIG_SHELL=sh \
		SRCARCH=um CC=clang-19 RUSTC=rustc BINDGEN=bindgen "$@"
}
expect "Kbuild refuses as well" 2 \
	"$PWD/scripts/check-tree.mk: *** mvpp2-rs: there is no rustc: install \"rustc 1.95.0 (59807616e 2026-04-14)\", which built $tree, or name it with RUSTC=/path/to/rustc.  Stop." \
	"" plain need-modorder=1
expect "but not for clean and modpost" 0 built "" plain
expect "and not twice" 0 built "" plain need-modorder=1 TREE_CHECKED=y

tally
