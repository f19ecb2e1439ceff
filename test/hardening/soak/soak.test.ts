/** One case of the stage, on one gateway: that the rig works. */
import { expect, it, onTestFinished } from 'vitest';
import { newTeam, simulatorOf } from '../../support/ask.js';
import { startGateway, startPlatform } from '../../support/processes.js';
import { GUARD } from '../chaos/fleet.js';
import { playSoakCase, SOAK_CASES } from './cases.js';
import { startSampling } from './samples.js';

it('a gateway holds while bodies blow up, and tells its figures meanwhile', async () => {
  const platform = await startPlatform();
  const gateway = await startGateway(platform.env);
  const scopes = ['report:read', 'platform:read', 'platform:write', 'cache:refresh', 'mcp'];
  const keys = new Map([['all' as const, await newTeam(gateway, { id: 'all', scopes, writeGuard: GUARD })]]);
  const bombs = SOAK_CASES.find(({ name }) => name === 'Bombs in requests');
  if (bombs === undefined) throw new Error('there is no such case');
  const sampling = startSampling([gateway], 100);
  onTestFinished(() => sampling.stop());
  const result = await playSoakCase(bombs, { gateways: [gateway], keys, sim: simulatorOf(platform.url) });
  expect(result).toMatchObject({
    result: 'held',
    times: 9,
    note: expect.stringMatching(/^memory grew by \S+ MiB$/),
  });
  const [first] = sampling.samples;
  expect(first?.values[0]?.memory).toBeGreaterThan(1e7);
  expect(first?.values[0]?.handles).toBeGreaterThan(5);
});
