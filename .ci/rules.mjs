/**
 * The dependency rules, and proof that they can fail: the cruise must have seen every file of `src`, and must
 * find a cycle and a forbidden import that are planted for it.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import config from '../.dependency-cruiser.mjs';

const PLANTED = 'src/reports/rows/planted-';

async function violations() {
  const tsConfig = extractTSConfig('tsconfig.json');
  const { output } = await cruise(
    ['src'],
    { ...config.options, ruleSet: { forbidden: config.forbidden }, validate: true },
    config.options.enhancedResolveOptions,
    { tsConfig },
  );
  return { seen: output.modules.map(({ source }) => source), found: output.summary.violations };
}

const files = readdirSync('src', { recursive: true })
  // What runs in a browser knows nothing of these rooms: Biome forbids it (noRestrictedImports).
  .filter((name) => name.endsWith('.ts') && !name.startsWith('web/'))
  .map((name) => `src/${name}`);

const folder = mkdtempSync(PLANTED);
let cruised;
try {
  writeFileSync(`${folder}/a.ts`, "import { b } from './b.js';\nexport const a = (): unknown => b;\n");
  writeFileSync(
    `${folder}/b.ts`,
    "import { a } from './a.js';\nimport '../../../gateway.js';\nimport 'node:async_hooks';\nexport const b = (): unknown => a;\n",
  );
  cruised = await violations();
} finally {
  rmSync(folder, { recursive: true });
}
const { seen, found } = cruised;
const isPlanted = ({ from }) => from.startsWith(folder);
const faults = found
  .filter((violation) => !isPlanted(violation))
  .map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`);
const unseen = files.filter((file) => !seen.includes(file));
if (unseen.length > 0)
  faults.push(`the cruise did not see ${unseen.length} of ${files.length} files, e.g. ${unseen[0]}`);
const planted = found.filter(isPlanted).map(({ rule }) => rule.name);
for (const name of ['no-cycles', 'reports-rows-knows', 'reports-knows', 'no-async-context']) {
  if (!planted.includes(name)) faults.push(`the rule ${name} did not find what was planted for it`);
}

for (const fault of faults) process.stderr.write(`${fault}\n`);
const modules = seen.filter((name) => name.startsWith('src/') && !name.startsWith(folder)).length;
process.stdout.write(`dependency rules: ${modules} modules, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
