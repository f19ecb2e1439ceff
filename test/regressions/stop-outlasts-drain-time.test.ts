/** A platform call that hung kept a stopping gateway alive for its own deadline, beyond `drainSeconds`. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { startGateway, startPlatform, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

it('a stop takes no longer than it was told, whatever the platform does', async () => {
  const platform = await startPlatform();
  const yaml = join(await tempFolder(), 'gateway.yaml');
  await writeFile(yaml, 'server: { drainSeconds: 1 }\nplatform: { timeoutMs: 600000 }\n');
  const gateway = await startGateway({ ...platform.env, GATEWAY_CONFIG: yaml });
  const { key } = await newTeam(gateway, { id: 'hanging' });
  const sim = simulatorOf(platform.url);
  await sim.fault({ kind: 'hang', times: 0 });
  const report = `${gateway.data}${REPORT}?advertiserId=1&_period=yesterday`;
  const hanging = ask(report, { key }).catch((error: Error) => error);
  await waitFor('the platform call', async () => (await sim.calls()).length > 0, gateway);
  const startedAt = performance.now();
  expect(await gateway.end('SIGTERM')).toEqual({ code: 0, signal: null });
  expect(performance.now() - startedAt).toBeGreaterThan(900);
  expect(await hanging).toBeInstanceOf(Error);
});
