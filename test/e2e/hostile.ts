/** A real gateway that waits 3 s for a request, for callers who mean it no good. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newTeam, simulatorOf } from '../support/ask.js';
import { startGateway, startPlatform, tempFolder } from '../support/processes.js';

export async function openImpatient() {
  const yaml = join(await tempFolder(), 'gateway.yaml');
  await writeFile(yaml, 'server: { requestTimeoutSeconds: 3 }\n');
  const platform = await startPlatform();
  const gateway = await startGateway({ ...platform.env, GATEWAY_CONFIG: yaml });
  const { key } = await newTeam(gateway, { id: 'hostile' });
  return { platform, gateway, sim: simulatorOf(platform.url), key };
}
