/** `dsp-gateway demo`. */
import { relative } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Environment } from '../config/rules.js';
import { stopSignal } from '../server/stop-signal.js';
import { type Demo, startDemo, TEAM } from './demo/start-demo.js';
import { createStoryClock, playStory } from './demo/story.js';
import { tour } from './demo/tour.js';

export interface DemoOptions {
  /** Ends after the tour; else on a signal. */
  readonly once?: boolean;
  /** Without a story: one team, no requests. */
  readonly empty?: boolean;
  /** Without requests after the story. */
  readonly quiet?: boolean;
}

export async function runDemo(env: Environment, { once, empty, quiet }: DemoOptions): Promise<void> {
  // As `serve`: garbage is collected before the heap has grown much.
  setFlagsFromString('--heap-growing-percent=30');
  // From the start: a stop in the middle of the story must leave no folder behind, either.
  const stopped = stopSignal();
  // With a test clock the operator sets the time.
  const hasStory = !once && !empty && env.GATEWAY_TEST_CLOCK === undefined;
  const clock = hasStory ? createStoryClock() : undefined;
  const demo = await startDemo(env, clock);
  print(introduction(demo));
  const show = async () => {
    if (hasStory) print('\nPlaying five weeks of five teams …');
    const goOn = clock && (await playStory(demo, clock, print));
    print(curlLines(demo));
    const live = quiet ? undefined : goOn?.();
    if (live) print('\nThe apps of all five teams, yours too, go on making requests (without: --quiet).');
    await stopped;
    await live?.stop();
  };
  // Until the tour has ended.
  if (once) process.exitCode = 1;
  try {
    await Promise.race([stopped, once ? showTour(demo) : show()]);
  } finally {
    if (!once) print('\nstopping');
    await demo.stop();
  }
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function showTour(demo: Demo): Promise<void> {
  print('');
  const { questions, checked, calls, direct, faults } = await tour(demo, print);
  print(`Why: one cached answer serves every spelling and format, and every team with access. Ranges are joined from
cached days, so only missing or changing days are fetched.

${faults.length === 0 ? `${checked} of the answers were compared with the platform's numbers, value by value: all equal.` : `${faults.length} answers were wrong.`}
${questions} requests, ${calls} platform calls. Apps that call the platform directly would have made ${direct}: ${direct - calls} saved.`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

function introduction({ simulator, gatewayUrl, adminUrl }: Demo): string {
  return `dsp-gateway demo: one advertising platform (simulated), one credential.

  platform   ${simulator.url}
  gateway    ${gatewayUrl}
  admin      ${adminUrl}
  team       ${TEAM.name} (${TEAM.id}), may see the advertisers ${TEAM.advertisers.join(', ')}`;
}

function curlLines({ simulator, gatewayUrl, adminUrl, adminToken, key }: Demo): string {
  const report = `${gatewayUrl}/api/v1/report/campaigns/get`;
  const cli = relative('', process.argv[1] ?? 'dist/cli.js');
  return `
Try, in another terminal:

  # the last 7 days by date and campaign; cache-status shows a miss, then hits
  curl -si -H 'x-api-key: ${key}' '${report}?advertiserId=3&byDate=1&byCampaign=1&_period=last_7_days'

  # the same as CSV
  curl -s -H 'x-api-key: ${key}' '${report}?advertiserId=3&byDate=1&byCampaign=1&_period=last_7_days&_format=csv'

  # an advertiser this team may not see
  curl -s -H 'x-api-key: ${key}' '${report}?advertiserId=4&byDate=1&_period=last_7_days'

  # what the team may do
  curl -s -H 'x-api-key: ${key}' ${gatewayUrl}/gateway/v1/me

  # connect an MCP assistant with the same key, e.g. Claude Code:
  claude mcp add --transport http dsp-gateway ${gatewayUrl}/mcp --header 'authorization: Bearer ${key}'

  # for operators, by the command line
  ADMIN_TOKEN=${adminToken} GATEWAY_ADMIN_URL=${adminUrl} node ${cli} status

  # the same by HTTP: teams, the platform token (not its value), metrics
  curl -s -H 'authorization: Bearer ${adminToken}' ${adminUrl}/admin/v1/teams
  curl -s -H 'authorization: Bearer ${adminToken}' ${adminUrl}/admin/v1/token
  curl -s ${adminUrl}/metrics | grep platform_calls

  # the simulated platform: calls received, of teams and of the gateway itself, and its switches
  curl -s ${simulator.url}/_sim

In a browser:

  explorer   ${gatewayUrl}/explorer   key ${key}
  docs       ${gatewayUrl}/docs
  console    ${adminUrl}/   admin token ${adminToken}

Ctrl-C stops everything.`;
}
