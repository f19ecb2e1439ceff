/**
 * The packages whose code is shipped: what `npm ci --omit=dev` installs, by the lock, and what the pages of src/web are
 * built of, which is a development dependency to npm and lies in dist all the same.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const WEB = 'src/web';
const BARE = /(?:\bfrom|\bimport)\s+['"](@[^/'"]+\/[^/'"]+|[a-z][^/'":]*)(?:\/[^'"]*)?['"]/g;

/** @returns name, version, licence and whether it is built into the pages, once each, in order of names */
export function shippedPackages() {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const installed = Object.keys(packages).filter((place) => place !== '' && packages[place].dev !== true);
  const built = new Set();
  for (const name of namesIn(WEB)) addWithDependencies(packages, `node_modules/${name}`, built);
  const found = new Map();
  for (const place of [...installed, ...built]) {
    const { version, license, name = place.slice(place.lastIndexOf('node_modules/') + 13) } = packages[place];
    const inPages = !installed.includes(place);
    found.set(`${name}@${version}`, { name, version, license: license ?? 'not named', inPages });
  }
  return [...found.values()].sort((left, right) =>
    `${left.name}@${left.version}` < `${right.name}@${right.version}` ? -1 : 1,
  );
}

/** Packages that the sources of the pages import; how they are built is no part of them. */
function namesIn(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.(tsx?|jsx?|css)$/.test(name) && !/vite\.config|\.test\./.test(name),
  );
  const texts = files.map((name) => readFileSync(join(folder, name), 'utf8'));
  return new Set(texts.flatMap((text) => [...text.matchAll(BARE)].map(([, name]) => name)));
}

function addWithDependencies(packages, place, into) {
  if (into.has(place)) return;
  if (packages[place] === undefined) throw new Error(`${place} is imported by ${WEB} and not in the lock`);
  into.add(place);
  for (const name of Object.keys(packages[place].dependencies ?? {})) {
    const nested = `${place}/node_modules/${name}`;
    addWithDependencies(packages, nested in packages ? nested : `node_modules/${name}`, into);
  }
}
