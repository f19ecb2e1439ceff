/** Prints docs/licences.md, from the lock: `npm run --silent licences > docs/licences.md`. */
import { shippedPackages } from './shipped.mjs';

const shipped = shippedPackages();
const counts = new Map();
for (const { license } of shipped) counts.set(license, (counts.get(license) ?? 0) + 1);
const summary = [...counts].sort(([, left], [, right]) => right - left);

process.stdout.write(`# Licences

The gateway is [MIT](../LICENSE). With it come the packages below: those that \`npm ci --omit=dev\` installs, builds for
other machines included, and those that the pages are built of (*in the pages*). The texts of their licences lie in the
packages, and for the pages in \`licences.md\` beside them (\`dist/web\`). All of them allow use, change and passing on; none
asks for the source of what uses it.

| Licence | Packages |
|---|--:|
${summary.map(([license, count]) => `| ${license} | ${count} |`).join('\n')}

Made from the lock by \`npm run --silent licences > docs/licences.md\`; a test holds it against the lock.

| Package | Version | Licence | |
|---|---|---|---|
${shipped.map(({ name, version, license, inPages }) => `| \`${name}\` | ${version} | ${license} | ${inPages ? 'in the pages' : ''} |`).join('\n')}
`);
