#!/usr/bin/env bash
# Cut a release: scripts/release.sh 0.2.0
# Sets the version, dates the changelog, builds and tries the wheel, commits and tags. Pushing is left to you.
set -euo pipefail
cd "$(dirname "$0")/.."
version=${1:?say which version, as in: scripts/release.sh 0.2.0}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "a version is three numbers, not $version"; exit 2; }
[ -z "$(git status --porcelain --untracked-files=no)" ] || { echo "commit or stash your changes first"; exit 2; }
git rev-parse -q --verify "refs/tags/v$version" >/dev/null && { echo "the tag v$version is there already"; exit 2; }
grep -q "^## .*(unreleased)$" CHANGELOG.md || { echo "CHANGELOG.md has no part marked (unreleased)"; exit 2; }
today=$(date -u +%Y-%m-%d)
sed -i "s/^__version__ = .*/__version__ = \"$version\"/" src/ctbnlearn/__init__.py
sed -i "0,/^## .*(unreleased)$/s//## $version ($today)/" CHANGELOG.md
sed -i "s/^version: .*/version: $version/" CITATION.cff
scripts/check_wheel.sh
git add src/ctbnlearn/__init__.py CHANGELOG.md CITATION.cff
git commit -q -m "Release $version"
git tag -a "v$version" -m "ctbnlearn $version"
echo "tagged v$version; publish with: git push origin HEAD v$version"
