#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Build the modules against each of the given kernels:
#
#	build-matrix.sh KDIR...
#
# RUSTC and BINDGEN are taken from the environment, since that is where a matrix
# of kernels differs. It is for whoever touches a Kbuild file: the kernels that
# matter are ones built by clang and by gcc, with CONFIG_RUST_INLINE_HELPERS,
# with CONFIG_MODVERSIONS, for another architecture, and a header package.

cd "$(dirname "$0")/.." || exit 1

[ $# -gt 0 ] || {
	echo "usage: $0 KDIR..." >&2
	exit 2
}

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

. tests/tap.sh

# fail NAME, and show why
fail()
{
	report n "$1"
	sed 's/^/# /' "$tmp/log" | tail -30
}

run()
{
	make --no-print-directory KDIR="$kdir" MO="$out" ${RUSTC:+RUSTC="$RUSTC"} \
		${BINDGEN:+BINDGEN="$BINDGEN"} "$@" > "$tmp/log" 2>&1
}

# built NAME PATTERN: does the log name what PATTERN matches?
built()
{
	if grep -Eq "$2" "$tmp/log"; then
		report y "$1"
	else
		fail "$1"
	fi
}

# Whether anything in this tree calls a helper out of line.
helper_calls()
{
	for object in $(find "$out/rust" "$out/samples" -name '*.o' ! -name helpers.o \
			! -name exports.o ! -name '*.mod.o' ! -name rust_net.o); do
		nm -u "$object" | grep "rust_net_helper_"
	done
}

# A changed source must reach all that is made from it. Sources are touched in
# a copy: the tree here may be in use.
mkdir "$tmp/tree"
git ls-files -z --cached --others --exclude-standard | xargs -0 tar c | tar x -C "$tmp/tree"

n=0
for kdir; do
	n=$((n + 1))
	out=$tmp/out.$n
	config=$kdir/include/config/auto.conf
	cd "$tmp/tree" || exit 1

	if ! run; then
		fail "$kdir: builds"
		continue
	fi
	report y "$kdir: builds"

	if grep -Eqi 'warning|error' "$tmp/log"; then
		fail "$kdir: without warnings"
	else
		report y "$kdir: without warnings"
	fi

	if run && ! grep -q . "$tmp/log"; then
		report y "$kdir: has nothing left to do then"
	else
		fail "$kdir: has nothing left to do then"
	fi

	helper_calls > "$tmp/log"
	if grep -q '^CONFIG_RUST_INLINE_HELPERS=y' "$config"; then
		if grep -q . "$tmp/log"; then
			fail "$kdir: inlines the helpers"
		else
			report y "$kdir: inlines the helpers"
		fi
	else
		built "$kdir: calls the helpers" rust_net_helper
	fi

	if grep -q '^CONFIG_MODVERSIONS=y' "$config"; then
		grep '_R\|rust_net_helper' "$out/Module.symvers" | grep '^0x00000000' > "$tmp/log"
		if grep -q . "$tmp/log"; then
			fail "$kdir: gives each symbol a version"
		else
			report y "$kdir: gives each symbol a version"
		fi
	fi

	touch rust/net/helpers/mm.c
	run
	built "$kdir: a helper reaches the bindings" 'BINDGEN.*net_bindings.rs'
	built "$kdir: and through them net" 'RUSTC.*rust/net/net.o'
	built "$kdir: and the samples" 'RUSTC.*samples/rust/'

	touch rust/net/net.rs
	run
	built "$kdir: net reaches the samples" 'RUSTC.*samples/rust/'

	run KRUSTFLAGS=--cfg=matrix
	built "$kdir: a changed flag rebuilds" 'RUSTC.*rust/net/net.o'

	if run INSTALL_MOD_PATH="$out.inst" modules_install &&
	   find "$out.inst" -name 'rust_net.ko*' | grep -q .; then
		report y "$kdir: installs"
	else
		fail "$kdir: installs"
	fi

	# Kbuild leaves what makes the directory an output directory.
	run clean
	find "$out" -type f ! -path "$out/Makefile" ! -path "$out/.gitignore" > "$tmp/log"
	if grep -q . "$tmp/log"; then
		fail "$kdir: cleans everything"
	else
		report y "$kdir: cleans everything"
	fi

	# The same without our Makefile, the output beside the source.
	args=$(scripts/check-tree.sh "$kdir")
	if make -C "$kdir" M="$PWD" ${RUSTC:+RUSTC="$RUSTC"} ${BINDGEN:+BINDGEN="$BINDGEN"} \
			$args modules > "$tmp/log" 2>&1; then
		report y "$kdir: builds by plain Kbuild, beside the source"
	else
		fail "$kdir: builds by plain Kbuild, beside the source"
	fi
	make -C "$kdir" M="$PWD" clean > "$tmp/log" 2>&1
	cd - > /dev/null || exit 1
	git ls-files -z --cached --others --exclude-standard | LC_ALL=C sort -z | tr '\0' '\n' > "$tmp/want"
	(cd "$tmp/tree" && find . -type f -o -type l) | sed 's,^\./,,' | LC_ALL=C sort |
		LC_ALL=C comm -13 "$tmp/want" - > "$tmp/log"
	if grep -q . "$tmp/log"; then
		fail "$kdir: cleans that, too"
	else
		report y "$kdir: cleans that, too"
	fi
done

tally
