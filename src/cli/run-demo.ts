/** What `dsp-gateway demo` prints and does. */
import type { Environment } from '../config/rules.js';
import { stopSignal } from '../server/stop-signal.js';
import { type Demo, startDemo, TEAM } from './demo/start-demo.js';
import { tour } from './demo/tour.js';

/** @param once ends after a tour; else it goes on until a signal stops it */
export async function runDemo(env: Environment, once: boolean): Promise<void> {
  const demo = await startDemo(env);
  process.stdout.write(introduction(demo));
  if (once) await showTour(demo);
  else await untilStopped(demo);
}

async function showTour(demo: Demo): Promise<void> {
  const print = (line: string) => void process.stdout.write(`${line}\n`);
  print('');
  const { questions, checked, calls, direct, faults } = await tour(demo, print);
  print(
    'Why: one cached answer serves every spelling, every format and every team that may see it, and a range is',
  );
  print('joined from days that are known, so that only missing or still-changing days are asked for.');
  print('');
  print(
    faults.length === 0
      ? `${checked} of the answers were held against the platform's own numbers, value by value: all the same.`
      : `${faults.length} answers were wrong.`,
  );
  print(
    `${questions} questions, ${calls} platform calls. Apps that ask the platform themselves would have made ${direct}: ${direct - calls} saved.`,
  );
  await demo.stop();
  process.exitCode = faults.length === 0 ? 0 : 1;
}

async function untilStopped(demo: Demo): Promise<void> {
  process.stdout.write(curlLines(demo));
  await stopSignal();
  process.stdout.write('\nstopping\n');
  await demo.stop();
}

function introduction({ simulator, gatewayUrl, adminUrl }: Demo): string {
  return `dsp-gateway demo: one advertising platform (simulated), one credential, one team.

  platform   ${simulator.url}
  gateway    ${gatewayUrl}
  admin      ${adminUrl}
  team       ${TEAM.name} (${TEAM.id}), may see the advertisers ${TEAM.advertisers.join(', ')}
`;
}

function curlLines({ simulator, gatewayUrl, adminUrl, adminToken, key }: Demo): string {
  const report = `${gatewayUrl}/api/v1/report/campaigns/get`;
  return `
Try, in another terminal:

  # the last 7 days by date; run it twice and look at cache-status
  curl -si -H 'x-api-key: ${key}' '${report}?advertiserId=1&byDate=1&_period=last_7_days'

  # the same as CSV
  curl -s -H 'x-api-key: ${key}' '${report}?advertiserId=1&byDate=1&_period=last_7_days&_format=csv'

  # an advertiser this team may not see
  curl -s -H 'x-api-key: ${key}' '${report}?advertiserId=4&byDate=1&_period=last_7_days'

  # what the team may do
  curl -s -H 'x-api-key: ${key}' ${gatewayUrl}/gateway/v1/me

  # an assistant that speaks MCP asks by the same key; as Claude Code connects it:
  claude mcp add --transport http dsp-gateway ${gatewayUrl}/mcp --header 'authorization: Bearer ${key}'

  # the operator's side: teams, the platform token (without its text), metrics
  curl -s -H 'authorization: Bearer ${adminToken}' ${adminUrl}/admin/v1/teams
  curl -s -H 'authorization: Bearer ${adminToken}' ${adminUrl}/admin/v1/token
  curl -s ${adminUrl}/metrics | grep platform_calls

  # the platform's side: what it was asked, and its switches
  curl -s ${simulator.url}/_sim

The operator's console is ${adminUrl}/ (the admin token is in the lines above).
Everything is described at ${gatewayUrl}/docs. Ctrl-C stops everything.
`;
}
