/** The platform's tokens: lifetimes, history, and the processes that use each. */
import { type AuditEntry, proofOf, sentenceOf } from '../../api/operations/audit-sentence.js';
import type { AnswerTo } from '../../api/operations/table.js';
import { failureOf, TOKEN_SOURCES } from '../../lib/words.js';
import { fromNow, moment } from '../ui/format.js';
import { Card, Empty, Tag, Track } from '../ui/parts.js';
import { hrefOf } from '../ui/route.js';

export type Tokens = AnswerTo<'GET /admin/v1/token'>;
type Token = NonNullable<Tokens['active']>;

/** A process of the gateway, with the token it uses. */
export type Holder = AnswerTo<'GET /admin/v1/status'>['processes'][number];

/** Threshold of the expiry warning. */
const SOON_MS = 30 * 86_400_000;

const SLOTS = [
  ['active', 'good'],
  ['pending', 'info'],
  ['previous', 'quiet'],
] as const;

export function TokenLine({ tokens, nowMs }: { readonly tokens: Tokens; readonly nowMs: number }) {
  const held = SLOTS.flatMap(([slot, tone]) => {
    const token = tokens[slot];
    return token === null ? [] : [{ slot, tone, token }];
  });
  return (
    <Card title="Tokens">
      {held.length === 0 ? (
        <Empty>There is no token: reports that are not cached are refused. Add one below.</Empty>
      ) : (
        <ul class="stack">
          {held.map(({ slot, tone, token }) => (
            <li key={token.id}>
              <div class="row between">
                <span>
                  <Tag tone={token.refusedAt === null ? tone : 'bad'}>{slot}</Tag>{' '}
                  <code>{token.fingerprint}</code>{' '}
                  <span class="quiet">
                    {TOKEN_SOURCES[token.source]}, {token.id}
                  </span>
                </span>
                <Verified token={token} />
              </div>
              <Line token={token} nowMs={nowMs} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

/** What the platform said last. */
function Verified({ token: { refusedAt, verifiedAt } }: { readonly token: Token }) {
  if (refusedAt !== null) return <Tag tone="bad">refused by the platform since {moment(refusedAt)}</Tag>;
  return (
    <Tag tone={verifiedAt === null ? 'warn' : 'good'}>
      {verifiedAt === null ? 'not verified' : `verified ${moment(verifiedAt)}`}
    </Tag>
  );
}

function Line({ token, nowMs }: { readonly token: Token; readonly nowMs: number }) {
  const { createdAt, expiresAt, expiryKnown, refusedAt } = token;
  const [from, to] = [Date.parse(createdAt), Date.parse(expiresAt)];
  const left = to - nowMs;
  const tone = refusedAt !== null ? 'quiet' : left <= 0 ? 'bad' : left < SOON_MS ? 'warn' : 'good';
  return (
    <>
      <Track share={(nowMs - from) / Math.max(1, to - from)} tone={tone} />
      <div class="row between small quiet">
        <span>added {moment(createdAt)}</span>
        {refusedAt === null ? (
          <Tag tone={tone === 'good' ? 'quiet' : tone}>
            {left <= 0 ? 'ended' : 'ends'} {fromNow(expiresAt, nowMs)}
          </Tag>
        ) : null}
        <span>
          {moment(expiresAt)}
          {expiryKnown ? '' : ' (assumed: a year from its first use)'}
        </span>
      </div>
    </>
  );
}

export function Tries({ entries }: { readonly entries: readonly AuditEntry[] }) {
  return (
    <Card
      title="History, the newest first"
      tools={<a href={hrefOf(['audit'], { action: 'token' })}>All in the audit</a>}
    >
      {entries.length === 0 ? (
        <Empty>No changes of tokens yet.</Empty>
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

/** `activeId` is null without an active token. */
type HoldersProps = Readonly<{ processes: readonly Holder[]; activeId: string | null }>;

/** Whether all processes use the active token. */
export function allHold({ processes, activeId }: HoldersProps): boolean {
  return activeId !== null && processes.length > 0 && processes.every(({ tokenId }) => tokenId === activeId);
}

export function Holders({ processes, activeId }: HoldersProps) {
  const holding = processes.filter(({ tokenId }) => tokenId !== null && tokenId === activeId).length;
  return (
    <details open={holding < processes.length}>
      <summary>
        {holding} of {processes.length === 1 ? '1 process uses' : `${processes.length} processes use`} the
        active token.
      </summary>
      <ul>
        {processes.map(({ id, host, pid, tokenId, tokenSince }) => (
          <li key={id}>
            <Tag tone={tokenId !== null && tokenId === activeId ? 'good' : 'warn'}>
              {tokenId === null ? 'no token' : tokenId === activeId ? 'active token' : 'another token'}
            </Tag>{' '}
            <bdi>{host}</bdi>, process {pid}
            {tokenSince === null ? null : <span class="quiet small">, since {moment(tokenSince)}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}
