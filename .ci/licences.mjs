/** Prints docs/licences.md, from the lock: `npm run --silent licences > docs/licences.md`. */
import { shippedPackages } from './shipped.mjs';

const shipped = shippedPackages();
const byLicence = new Map();
for (const one of shipped) byLicence.set(one.license, [...(byLicence.get(one.license) ?? []), one]);
const named = ({ name, version, inPages }) => `\`${name}@${version}\`${inPages ? '*' : ''}`;
const lists = [...byLicence].sort(([, left], [, right]) => right.length - left.length);

process.stdout.write(`# Licences

**In short:** the gateway is [MIT](../LICENSE). It ships with the packages below: what \`npm ci --omit=dev\` installs on any machine, and what the
pages are built of (marked *). The texts are in the packages, and for the pages in \`dist/web/*/licences.md\`. All of them allow use,
change and redistribution. Generated from the lock by \`npm run --silent licences > docs/licences.md\`.

${lists.map(([license, packages]) => `**${license}** (${packages.length}): ${packages.map(named).join(' ')}`).join('\n\n')}
`);
