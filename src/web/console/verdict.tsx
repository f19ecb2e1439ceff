/** Whether all is well, and what to do where it is not: as `dsp-gateway status` says it. */

import type { AnswerTo } from '../../api/operations/table.js';
import { span } from '../ui/format.js';
import { Card, Tag, type Tone } from '../ui/parts.js';

export type Status = AnswerTo<'GET /admin/v1/status'>;

const TONES: Readonly<Record<string, Tone>> = { well: 'good', warning: 'warn' };
const WORDS: Readonly<Record<string, string>> = { well: 'All is well', warning: 'Works, but look at this' };

export function VerdictCard({ status }: { readonly status: Status }) {
  const { ready, version, uptimeSeconds, verdict, processes } = status;
  const tone = TONES[verdict.level] ?? 'bad';
  return (
    <Card class={`verdict ${tone}`}>
      <div class="card-head">
        <h2>{WORDS[verdict.level] ?? 'Something is wrong'}</h2>
        <p class="small quiet">
          {ready ? '' : <Tag tone="bad">not ready</Tag>} version {version}, up for {span(uptimeSeconds)},{' '}
          {processes.length === 1 ? 'one process' : `${processes.length} processes`}
        </p>
      </div>
      {verdict.findings.length === 0 ? null : (
        <ul class="findings">
          {verdict.findings.map(({ level, says, do: what }) => (
            <li key={says}>
              <Tag tone={TONES[level] ?? 'bad'}>{level}</Tag> {says}
              <p class="quiet">To do: {what}</p>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
