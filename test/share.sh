# share.sh - sourced: $share is $CELLAR_SHARE, a percentage from 1 to 100, or 100 where that is not set or empty; anything else ends the test. As share.h.
share=${CELLAR_SHARE:-100}
if ! [[ $share =~ ^[1-9][0-9]{0,2}$ ]] || [ "$share" -gt 100 ]; then
    echo "CELLAR_SHARE is '$share', not a percentage from 1 to 100" >&2
    exit 2
fi
