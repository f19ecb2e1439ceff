import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startDemo } from '../../../src/cli/demo/start-demo.js';
import { tour } from '../../../src/cli/demo/tour.js';

it('counts what is asked behind an answer with the question it belongs to, however slow the platform is', async () => {
  const demo = await startDemo({ PORT: '0', ADMIN_PORT: '0' });
  onTestFinished(() => demo.stop());
  demo.simulator.set({ latencyMs: 100 });
  const lines: string[] = [];
  const { faults } = await tour(demo, (line) => void lines.push(line));
  expect(faults, lines.join('\n')).toEqual([]);
});

it('replaces ports that are taken, those of the environment too', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => taken.once('listening', resolve));
  onTestFinished(() => void taken.close());
  const port = String((taken.address() as AddressInfo).port);
  const demo = await startDemo({ PORT: port, ADMIN_PORT: port });
  onTestFinished(() => demo.stop());
  expect([new URL(demo.gatewayUrl).port, new URL(demo.adminUrl).port]).not.toContain(port);
});

it('leaves no folder behind when the settings are refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'no-demo-'));
  vi.stubEnv('TMPDIR', folder);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });
  await expect(startDemo({ PORT: 'abc' })).rejects.toThrow('PORT');
  expect(await readdir(folder)).toEqual([]);
});
