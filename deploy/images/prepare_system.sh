#!/bin/sh
# Install the Debian packages that are named, and make the user and the folders that the volumes take over.
set -eu
apt-get update
apt-get install --yes --no-install-recommends ca-certificates "$@"
rm -rf /var/lib/apt/lists/*
useradd --create-home --uid 10001 r4p
# A new volume gets the owner of the folder that it covers.
install --directory --owner r4p /checkouts /trees /test-trees /environments /trainings
