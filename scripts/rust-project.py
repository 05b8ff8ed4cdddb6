#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Completes the rust-project.json that the kernel wrote for this tree.

The kernel's generator finds crate roots that lie beside a Kbuild file which
names their objects. It gives each the kernel's own crates and nothing else, so
that `net` is unknown to its users, and it cannot see a root that is generated
into another directory.
"""

import copy
import json
import pathlib
import re
import sys


def externs(root):
    """The crates that a Kbuild file hands to the crate with this root module."""
    found = []
    for line in (root.parent / "Kbuild").read_text().replace("\\\n", " ").splitlines():
        if re.match(rf"RUSTFLAGS_{root.stem}\.o\s*[:+]?=", line):
            found += re.findall(r"--extern[ =](\w+)", line)
    return found


def main():
    if len(sys.argv) != 4:
        sys.exit(f"usage: {sys.argv[0]} SOURCE BUILD OUTPUT")
    source, build = (pathlib.Path(arg).resolve() for arg in sys.argv[1:3])

    # The kernel writes it where it builds.
    project = json.loads((build / "rust-project.json").read_text())
    crates = project["crates"]

    def ours(crate):
        return pathlib.Path(crate["root_module"]).is_relative_to(source)

    # If the two directories are one, the generated root has been found.
    index = {crate["display_name"]: number for number, crate in enumerate(crates)}
    if "net_bindings" not in index:
        index["net_bindings"] = len(crates)
        crates.append(copy.deepcopy(crates[index["net"]]))
    bindings = crates[index["net_bindings"]]
    bindings["display_name"] = "net_bindings"
    bindings["root_module"] = str(build / "rust/net/net_bindings.rs")
    # Nobody edits it, so nobody needs diagnostics of it.
    bindings["is_workspace_member"] = False

    for crate in crates:
        if crate is bindings or not ours(crate):
            continue
        # A module is what every crate here is part of.
        crate["cfg"] = crate["cfg"] + ["MODULE"]
        names = externs(pathlib.Path(crate["root_module"]))
        if crate["display_name"] != "net":
            names.append("net")
        known = {dep["name"] for dep in crate["deps"]}
        crate["deps"] += [
            {"crate": index[name], "name": name} for name in dict.fromkeys(names) if name not in known
        ]

    output = pathlib.Path(sys.argv[3])
    output.write_text(json.dumps(project, indent=4, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
