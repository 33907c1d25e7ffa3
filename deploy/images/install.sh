#!/bin/sh
# Install the bot with the extras $2 into a new virtual environment $1: every version as in constraints.txt, and only what runs.
# PYTHON names the interpreter.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
target=$1 extras=$2
known=$(sed -n '/^\[project.optional-dependencies\]/,/^\[/s/^\([a-z-]*\) = \[.*/\1/p' "$root/pyproject.toml")
# pip only warns of an extra that does not exist.
printf '%s\n' "$extras" | tr , '\n' | while IFS= read -r extra; do
    printf '%s\n' "$known" | grep -qxFe "$extra" || { echo "install.sh: there is no extra '$extra' in pyproject.toml" >&2; exit 2; }
done
"${PYTHON:-python3}" -m venv "$target"
"$target/bin/python" -m pip install --quiet --no-cache-dir --no-compile --disable-pip-version-check \
    --constraint "$root/constraints.txt" "${root}[${extras}]"
"$target/bin/python" -m pip uninstall --quiet --yes --disable-pip-version-check setuptools pip
find "$target"/lib/*/site-packages -mindepth 2 -type d -name tests -prune -exec rm -rf {} +
# The image's root is read-only, so the first start could not keep what it compiles. Files for other Pythons do not compile.
"$target/bin/python" -m compileall -q -x '/pygments/' --invalidation-mode unchecked-hash "$target/lib" || true
