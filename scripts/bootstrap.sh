#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Run a command that needs cargo, on a machine that may have git and make only:
#
#	bootstrap.sh COMMAND...
#
# Without cargo, it is installed from the distribution; everything else is then
# the business of `cargo xtask setup`.

set -e

need_packages()
{
	if [ -r /etc/os-release ]; then
		. /etc/os-release
	fi

	case $ID:$VERSION_ID in
	debian:12)
		# Debian 12's own rustc is too old. This newer one is meant for
		# building web browsers.
		packages="rustc-web cargo-web"
		;;
	debian:* | ubuntu:*)
		packages="rustc cargo"
		;;
	*)
		echo >&2 "mvpp2-rs: there is no cargo: install Rust 1.85 or later, as your distribution" \
			"or https://rustup.rs/ does it, and run this again."
		exit 1
		;;
	esac
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo >&2 "mvpp2-rs: there is no cargo: as root, run apt-get install $packages."
		exit 1
	fi
}

# rustup installs here and leaves it to the login shell to find it.
PATH=$PATH:${CARGO_HOME:-$HOME/.cargo}/bin

if ! command -v cargo >/dev/null; then
	need_packages
	# cargo fetches crates by https.
	packages="$packages ca-certificates"
	echo "There is no cargo; installing $packages"
	as_root apt-get update -qq
	as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends $packages
fi

exec "$@"
