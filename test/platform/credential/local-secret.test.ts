import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { localSecret } from '../../../src/platform/credential/local-secret.js';

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-secret-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

describe('a secret of the data folder', () => {
  it('is made once, for its owner alone, and read from then on', async () => {
    const folder = await newFolder();
    const path = join(folder, 'admin.token');
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    expect(localSecret(folder, 'admin.token', () => 'first')).toEqual({
      value: 'first',
      path,
      created: true,
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(path, 'utf8')).toBe('first\n');
    expect(localSecret(folder, 'admin.token', () => expect.unreachable())).toEqual({
      value: 'first',
      path,
      created: false,
    });
    // Nothing else is left in the folder.
    expect(await readdir(folder)).toEqual(['admin.token']);
  });

  it('may be replaced by hand', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'admin.token'), '  by hand \r\n');
    expect(localSecret(folder, 'admin.token', () => 'x').value).toBe('by hand');
  });

  it('is not made anew when its file is empty: what it opened would be lost', async () => {
    const folder = await newFolder();
    const path = join(folder, 'master.key');
    await writeFile(path, '\n');
    expect(() => localSecret(folder, 'master.key', () => 'x')).toThrow(`the file ${path} is empty`);
    expect(await readFile(path, 'utf8')).toBe('\n');
  });

  it('is not made where that is not possible', async () => {
    const folder = await newFolder();
    expect(() => localSecret(join(folder, 'missing'), 'master.key', () => 'x')).toThrow('ENOENT');
    await mkdir(join(folder, 'master.key'));
    expect(() => localSecret(folder, 'master.key', () => 'x')).toThrow('EISDIR');
    expect(await readdir(folder)).toEqual(['master.key']);
  });

  it('is one, when processes start at once on an empty folder', async () => {
    const script = fileURLToPath(new URL('make-secret.mjs', import.meta.url));
    await access(
      fileURLToPath(new URL('../../../dist/modules/platform/credential/local-secret.js', import.meta.url)),
    ).catch(() => {
      throw new Error('dist/ is missing: run npm run build first (npm test does)');
    });
    const folder = await newFolder();
    const children = Array.from({ length: 4 }, (_, index) => {
      const child = spawn(process.execPath, [script, folder, `of-process-${index}`], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      return {
        child,
        lines: createInterface(child.stdout)[Symbol.asyncIterator](),
        exit: once(child, 'exit'),
      };
    });
    onTestFinished(() => {
      for (const { child } of children) child.kill('SIGKILL');
    });
    for (const { lines } of children) expect((await lines.next()).value).toBe('ready');
    for (const { child } of children) child.stdin.write('go\n');
    const made = await Promise.all(
      children.map(
        async ({ lines }) =>
          JSON.parse((await lines.next()).value as string) as { value: string; created: boolean },
      ),
    );
    await Promise.all(children.map(({ exit }) => exit));
    expect(new Set(made.map(({ value }) => value)).size).toBe(1);
    expect(made.filter(({ created }) => created)).toHaveLength(1);
    expect(await readdir(folder)).toEqual(['master.key']);
    expect((await readFile(join(folder, 'master.key'), 'utf8')).trim()).toBe(made[0]?.value);
  });
});
