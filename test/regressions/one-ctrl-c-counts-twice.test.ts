/** Under npm one Ctrl-C reaches the gateway twice; the second ended it in the middle of what it was finishing. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { launch, logLines, planeOf, startPlatform, tempFolder } from '../support/processes.js';
import { waitFor } from '../support/wait-for.js';

it('a Ctrl-C at `npm start` finishes what is under way', async () => {
  const platform = await startPlatform(['--switch', 'latencyMs=800']);
  const adminToken = 'an-admin-token-for-tests';
  const npm = launch('npm', ['start'], {
    ...platform.env,
    ...{ HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', ADMIN_TOKEN: adminToken },
    GATEWAY_DATA_DIR: join(await tempFolder(), 'data'),
  });
  const data = await waitFor('the data plane', () => planeOf(npm, 'data'), npm);
  const { key } = await newTeam({ admin: planeOf(npm, 'admin') ?? '', adminToken }, { id: 'patient' });
  const answer = ask(`${data}${REPORT}?advertiserId=1&_period=yesterday`, { key });
  await waitFor('the platform call', async () => (await simulatorOf(platform.url).calls()).length === 1);
  // As a terminal does it: to every process of the group.
  process.kill(-npm.pid, 'SIGINT');
  expect((await answer).status).toBe(200);
  await npm.exited;
  expect(logLines(npm).at(-1)?.msg).toBe('stopped');
});
