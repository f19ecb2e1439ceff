/** What was done with tokens, newest first; what failed is shown as failed. */
import { moment } from '../ui/format.js';
import { Card, Empty, Tag } from '../ui/parts.js';
import { hrefOf } from '../ui/route.js';
import { type AuditEntry, sentenceOf } from './audit-sentence.js';
import { failureOf, proofOf } from './token-types.js';

export function Tries({ entries }: { readonly entries: readonly AuditEntry[] }) {
  return (
    <Card title="What was done" tools={<a href={hrefOf(['audit'], { action: 'token' })}>All in the audit</a>}>
      {entries.length === 0 ? (
        <Empty>Nothing was done with tokens yet.</Empty>
      ) : (
        <ul class="tries">
          {entries.slice(0, 12).map((entry) => (
            <Try key={entry.id} entry={entry} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function Try({ entry }: { readonly entry: AuditEntry }) {
  const failure = failureOf(entry.after);
  const proof = proofOf(entry.after);
  return (
    <li>
      <span>
        {failure === null ? null : <Tag tone="bad">failed</Tag>} {sentenceOf(entry)}
      </span>
      <span class="small quiet">{moment(entry.at)}</span>
      {failure === null ? null : <span class="small">{failure}</span>}
      {proof === null ? null : (
        <span class="small quiet">
          {proof.call === null ? proof.reason : `${proof.call}: ${proof.reason}`}
        </span>
      )}
    </li>
  );
}
