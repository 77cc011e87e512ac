#!/bin/bash
# test_quick.sh - the models of commit and recovery hold, and each rule that is taken away is missed (spec/run.sh). 77: spin is absent.
exec bash "$(dirname "$0")/../../spec/run.sh" quick
