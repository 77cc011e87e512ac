#!/bin/bash
# test_quick.sh - the models of commit and recovery hold, and each rule that is taken away is missed (proof/spec/run.sh). 77:
# spin is absent. On a loaded machine a run takes many times as long: here only the time of all of them is bounded.
exec env SPEC_SECONDS="${SPEC_SECONDS:-1400}" bash "$(dirname "$0")/../../proof/spec/run.sh" quick
