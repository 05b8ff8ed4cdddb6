# SPDX-License-Identifier: GPL-2.0
#
# What the test scripts share: a line for each check, and the tally at the end.
# To be sourced, in the top directory.

passed=0
failed=0

# report y|n NAME
report()
{
	if [ "$1" = y ]; then
		passed=$((passed + 1))
		echo "ok $((passed + failed)) - $2"
	else
		failed=$((failed + 1))
		echo "not ok $((passed + failed)) - $2"
	fi
}

# The last command of a script: prints the tally, and is its status.
tally()
{
	echo "$passed passed, $failed failed"
	[ $failed = 0 ]
}
