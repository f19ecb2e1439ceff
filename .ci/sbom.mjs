/**
 * Prints what is shipped as a CycloneDX document: `npm run --silent sbom > sbom.json`. npm writes that of all packages, from
 * the lock, and what is not shipped is taken out here: by itself (`--omit dev`) npm leaves out the packages that development
 * needs as well, and does not know what the pages are built of.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { shippedPackages } from './shipped.mjs';

const bom = JSON.parse(
  execFileSync(
    'npm',
    // Not from node_modules, which holds the builds for this machine alone.
    ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only'],
    { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024, stdio: ['ignore', 'pipe', 'inherit'] },
  ),
);
const root = bom.metadata.component;
// npm calls it by the folder it lies in.
root.name = JSON.parse(readFileSync('package.json', 'utf8')).name;
const shipped = new Map(shippedPackages().map((one) => [`${one.name}@${one.version}`, one]));
const isShipped = ({ name, version }) => shipped.has(`${name}@${version}`);
bom.components = bom.components
  .filter(isShipped)
  .map((one) => (shipped.get(`${one.name}@${one.version}`).inPages ? asShipped(one) : one));
const refs = new Set([root, ...bom.components].map((one) => one['bom-ref']));
bom.dependencies = bom.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map((one) => ({ ...one, dependsOn: one.dependsOn.filter((ref) => refs.has(ref)) }));

/** Development to npm: it is built into the pages. */
function asShipped(component) {
  const properties = component.properties.filter(({ name }) => name !== 'cdx:npm:package:development');
  return { ...component, scope: 'required', properties };
}

process.stdout.write(`${JSON.stringify(bom, null, 2)}\n`);
