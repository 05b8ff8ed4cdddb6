#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# scripts/rust-project.py on what the kernel writes for this tree, cut down to
# one crate of the kernel's and ours.

cd "$(dirname "$0")/.." || exit 1

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

. tests/tap.sh

# check NAME PYTHON-EXPRESSION, over `crates`, `names` and `deps`
check()
{
	if python3 - "$tmp/out.json" "$2" <<-'EOF'
		import json, pathlib, sys

		crates = json.load(open(sys.argv[1]))["crates"]
		names = {crate["display_name"]: crate for crate in crates}

		def deps(name):
		    return [dep["name"] for dep in names[name]["deps"]]

		sys.exit(not eval(sys.argv[2]))
	EOF
	then
		report y "$1"
	else
		report n "$1"
	fi
}

crate()
{
	printf '{"display_name": "%s", "root_module": "%s", "is_workspace_member": true,' "$1" "$2"
	printf '"cfg": ["CONFIG_RUST"], "edition": "2021", "env": {}, "deps": [%s]}' "$3"
}

# As the kernel finds them: every sample has its object in a Kbuild file.
kernel_wrote()
{
	kernel='{"crate": 0, "name": "kernel"}'
	{
		printf '{"sysroot": "/", "crates": ['
		crate kernel "$tmp/kernel.rs" ""
		printf ,
		crate net "$PWD/rust/net/net.rs" "$kernel"
		for root in samples/rust/*.rs; do
			printf ,
			crate "$(basename "$root" .rs)" "$PWD/$root" "$kernel"
		done
		[ "$1" != beside ] || {
			printf ,
			crate net_bindings "$PWD/rust/net/net_bindings.rs" "$kernel"
		}
		printf ']}'
	} > "$tmp/rust-project.json"
}

mkdir -p "$tmp/rust/net"
touch "$tmp/rust/net/net_bindings.rs" "$tmp/kernel.rs"

for where in elsewhere beside; do
	kernel_wrote $where
	scripts/rust-project.py . "$tmp" "$tmp/out.json" || exit 1

	check "output $where: all dependencies resolve, by name" \
		"all(crates[dep['crate']]['display_name'] == dep['name'] for crate in crates for dep in crate['deps'])"
	check "output $where: all roots exist" \
		"all(pathlib.Path(crate['root_module']).exists() for crate in crates)"
	check "output $where: no crate is there twice" \
		"len(names) == len(crates)"
	check "output $where: net uses the bindings and the kernel" \
		"deps('net') == ['kernel', 'net_bindings']"
	check "output $where: the bindings are the generated ones" \
		"names['net_bindings']['root_module'] == '$tmp/rust/net/net_bindings.rs' and deps('net_bindings') == ['kernel']"
	check "output $where: every sample uses net" \
		"all('net' in deps(name) for name in names if name.startswith('rust_'))"
	check "output $where: ours are modules, the kernel is not" \
		"'MODULE' in names['net']['cfg'] and 'MODULE' not in names['kernel']['cfg']"
done

tally
