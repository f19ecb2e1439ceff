/** `dsp-gateway status`: whether the gateway is well, what to do when it is not, and the few numbers that matter. */
import type { AnswerOf } from '../api/operations/operation.js';
import { getStatus } from '../api/operations/overview.js';
import { steps } from './call-command.js';
import { EXIT, Unreachable } from './command-error.js';
import { show } from './define.js';
import { bytes, counted, span, until } from './span.js';
import { renderFields } from './table.js';
import { endWith, renderFinding, unreachable, withColours } from './verdict.js';

export const addStatusCommand = steps({
  name: 'status',
  operation: getStatus,
  description: `Say whether the gateway is well, and what to do when it is not; exit code 0: well, ${EXIT.warning}: a warning, ${EXIT.notWell}: not well.`,
  examples: ['status', 'status --json | jq .verdict'],
  async run({ send, terminal: plain, options }) {
    const terminal = withColours(plain);
    const status = await send({}).catch((error: unknown) => {
      if (!(error instanceof Unreachable)) throw error;
      const findings = [unreachable(error)];
      show(terminal, options, { verdict: { level: 'not well', findings } }, () =>
        findings.map(renderFinding).join(''),
      );
      return null;
    });
    if (status === null) return endWith('not well');
    show(terminal, options, status, (all) => describeStatus(all, terminal.nowMs()));
    endWith(status.verdict.level);
  },
});

function describeStatus(status: AnswerOf<typeof getStatus>, nowMs: number): string {
  const { verdict, worst, version, uptimeSeconds, replicas, store, credential, cache, platform } = status;
  const { retention = [] } = status;
  const found = verdict.findings.map(renderFinding).join('');
  const { callsRunning, callsQueued } = platform;
  const expires =
    credential.expiresAt === null
      ? ''
      : `, expires ${until(credential.expiresAt, nowMs)}${credential.expiryKnown === false ? ' (assumed)' : ''}`;
  const lines = renderFields([
    ['token', `${worst.credential}${expires}`],
    ['platform', `${worst.platform}; calls under way ${callsRunning}, waiting ${callsQueued}`],
    ...retention.map(({ endpoint, days, source }): [string, string] => [
      'retention',
      `${endpoint}: the platform has forgotten what is older than ${days} days (${source}); history answers for it`,
    ]),
    ['store', `${worst.store}, ${store.kind}`],
    ['cache', `${counted(cache.l1Entries, 'answer')} in memory, ${bytes(cache.l1Bytes)}`],
    ['processes', `${replicas}, version ${version}, up for ${span(uptimeSeconds)}`],
  ]);
  return `${found === '' ? 'WELL\n' : found}\n${lines}`;
}
