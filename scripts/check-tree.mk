# SPDX-License-Identifier: GPL-2.0

# Refuse a wrong kernel tree before anything is compiled. Kbuild reads its
# Kbuild file for modpost and for clean too; only a build sets need-modorder.
#
# The Makefile has asked already: it needs the answer to call Kbuild.
ifdef need-modorder
ifndef TREE_CHECKED
tree-error := $(shell RUSTC='$(RUSTC)' BINDGEN='$(BINDGEN)' ARCH='$(SRCARCH)' CC='$(CC)' \
	$(CONFIG_SHELL) $(srcroot)/scripts/check-tree.sh '$(objtree)' 2>&1 >/dev/null | \
	sed 's/\.$$//')
ifneq ($(tree-error),)
$(error $(tree-error))
endif
endif
endif
