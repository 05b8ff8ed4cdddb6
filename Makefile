# SPDX-License-Identifier: GPL-2.0

# The kernel to build against: where it was built (the O= directory if there
# was one), or a header package with Rust metadata.
#
# Kbuild itself reads Kbuild, not this file: make -C $(KDIR) M=$(CURDIR) works
# as well, and checks the tree as well.
KDIR ?= /lib/modules/$(shell uname -r)/build

# As in the kernel, these are taken from the command line or from PATH only.
RUSTC = rustc
BINDGEN = bindgen

LAB ?= um

ifeq ($(V),1)
Q :=
else
Q := @
endif

# O= is the kernel's own name for a KDIR that differs from its source.
ifdef O
tree := $(abspath $(O))
else
tree := $(abspath $(KDIR))
endif

check_tree = RUSTC='$(RUSTC)' BINDGEN='$(BINDGEN)' ARCH='$(ARCH)' LLVM='$(LLVM)' \
	CROSS_COMPILE='$(CROSS_COMPILE)' CC='$(if $(filter command,$(origin CC)),$(CC))' \
	scripts/check-tree.sh $(if $(filter file,$(origin KDIR)),--headers) '$(tree)'

kbuild = $(MAKE) --no-print-directory -C '$(tree)' M='$(CURDIR)' \
	$(if $(O),O='$(tree)') $(if $(MO),MO='$(abspath $(MO))')

# The arguments that a user need not know come from the tree.
checked_kbuild = args=$$($(check_tree)) || exit 1; $(kbuild) TREE_CHECKED=y $$args

PHONY += modules
modules:
	+$(Q)$(checked_kbuild) modules

PHONY += modules_install
modules_install:
	+$(Q)$(checked_kbuild) modules_install

# Any kernel tree will do for this.
PHONY += clean
clean:
	$(Q)test -e '$(tree)/Makefile' || \
		{ echo >&2 'mvpp2-rs: cleaning takes a kernel tree, any: make KDIR=/path/to/linux clean.'; exit 1; }
	+$(Q)$(kbuild) clean
	$(Q)rm -f rust-project.json

# The kernel's generator knows neither that crates of one external tree use each
# other nor generated crates; ours completes what it wrote. Plain Kbuild ends
# before that, for it never reads a file of ours on this target: the crates are
# visible then, but each sees the kernel's alone.
PHONY += rust-analyzer
rust-analyzer:
	+$(Q)$(checked_kbuild) rust/net/net_bindings.o && $(kbuild) TREE_CHECKED=y $$args rust-analyzer
	$(Q)scripts/rust-project.py '$(CURDIR)' '$(or $(abspath $(MO)),$(CURDIR))' rust-project.json

# Everything below needs no kernel tree: `cargo xtask` fetches and builds what
# the labs run.
xtask = scripts/bootstrap.sh cargo xtask

PHONY += setup
setup:
	$(Q)$(xtask) setup

PHONY += doctor
doctor:
	$(Q)$(xtask) doctor

PHONY += test test-all
test test-all: setup
	$(Q)$(xtask) test

PHONY += lint
lint: setup
	$(Q)$(xtask) lint

PHONY += demo
demo: setup
	$(Q)$(xtask) demo

PHONY += bench
bench: setup
	$(Q)$(xtask) bench page-pool

PHONY += lab
lab: setup
	$(Q)$(xtask) lab $(LAB)

PHONY += help
help:
	@echo 'Modules, built against a kernel of yours:'
	@echo '  modules         - Build all modules (default)'
	@echo '  modules_install - Install them to INSTALL_MOD_PATH (default: /)'
	@echo '  clean           - Remove what was built'
	@echo '  rust-analyzer   - Write rust-project.json for rust-analyzer'
	@echo ''
	@echo '  KDIR=dir        - Where that kernel was built (default: the running kernel'"'"'s headers)'
	@echo '  MO=dir          - Put the output there, not beside the source'
	@echo '  RUSTC= BINDGEN= - If those in PATH are not the ones that built the kernel'
	@echo '  ARCH= LLVM= CROSS_COMPILE= O= V=1'
	@echo '                  - As in the kernel; the first three are known from the tree'
	@echo ''
	@echo 'Laboratory, in which kernel and machine are provided:'
	@echo '  demo            - Compare the Rust page_pool binding with C'
	@echo '  test            - Run every test'
	@echo '  lint            - Check format and style'
	@echo '  bench           - Run all benchmarks'
	@echo '  lab             - Boot a kernel with the modules and give a shell in it'
	@echo '                    (LAB=um, or LAB=arm64 for QEMU)'
	@echo '  doctor          - Say what is installed and what is missing'
	@echo '  setup           - Install what is missing'

.DEFAULT_GOAL := modules
.PHONY: $(PHONY)
