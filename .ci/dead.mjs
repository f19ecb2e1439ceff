/**
 * Nothing is kept that nobody uses: no file, no export, no dependency. Proof that it can fail: it must find a file and
 * an export that are planted for it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';

/** @returns one line for each thing that knip finds unused */
function unused() {
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['node_modules/knip/bin/knip.js', '--reporter=json', '--no-exit-code'],
    { encoding: 'utf8' },
  );
  let issues;
  try {
    ({ issues } = JSON.parse(stdout));
  } catch {
    throw new Error(`knip did not report (exit code ${status}): ${stdout}${stderr}`);
  }
  return issues.flatMap(({ file, ...kinds }) =>
    Object.entries(kinds).flatMap(([kind, found]) =>
      Array.isArray(found) ? found.flat().map(({ name }) => `${file}: ${name} (${kind})`) : [],
    ),
  );
}

const folder = mkdtempSync('test/reports/rows/dead-');
let found;
try {
  writeFileSync(`${folder}/unused.ts`, 'export const nobody = 1;\n');
  writeFileSync(`${folder}/used.ts`, 'export const used = 1;\nexport const dead = 2;\n');
  writeFileSync(`${folder}/planted.test.ts`, "import { used } from './used.js';\nvoid used;\n");
  found = unused();
} finally {
  rmSync(folder, { recursive: true });
}
const faults = found.filter((fault) => !fault.includes(folder));
for (const kind of [/unused\.ts.*\(files\)/, /used\.ts: dead \(exports\)/]) {
  if (!found.some((fault) => fault.includes(folder) && kind.test(fault)))
    faults.push(`what was planted was not found: ${kind}`);
}

for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`unused files, exports and dependencies: ${faults.length}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
