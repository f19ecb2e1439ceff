/** Each token as a line in time: when it was made, where today is, when it ends. */
import { fromNow, moment } from '../ui/format.js';
import { Card, Empty, Tag, type Tone } from '../ui/parts.js';
import { SLOTS, type Slot, SOURCES, type Token, type Tokens } from './token-types.js';

/** Expiry closer than this is pointed at. */
const SOON_MS = 30 * 86_400_000;

const TONES: Readonly<Record<Slot, Tone>> = { active: 'good', pending: 'info', previous: 'quiet' };

export function TokenLine({ tokens, nowMs }: { readonly tokens: Tokens; readonly nowMs: number }) {
  const held = SLOTS.flatMap((slot) => {
    const token = tokens[slot];
    return token === null ? [] : [{ slot, token }];
  });
  return (
    <Card title="Tokens">
      {held.length === 0 ? (
        <Empty>There is no token: reports that are not cached are refused. Give one below.</Empty>
      ) : (
        <ul class="token-lines">
          {held.map(({ slot, token }) => (
            <li key={token.id}>
              <div class="row between">
                <span>
                  <Tag tone={TONES[slot]}>{slot}</Tag> <code>{token.fingerprint}</code>{' '}
                  <span class="quiet">{SOURCES[token.source]}</span>
                </span>
                <Proven token={token} />
              </div>
              <Line token={token} nowMs={nowMs} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Proven({ token: { verifiedAt } }: { readonly token: Token }) {
  return verifiedAt === null ? (
    <Tag tone="warn">not proven</Tag>
  ) : (
    <Tag tone="good">proven {moment(verifiedAt)}</Tag>
  );
}

function Line({ token, nowMs }: { readonly token: Token; readonly nowMs: number }) {
  const { createdAt, expiresAt, expiryKnown } = token;
  const [from, to] = [Date.parse(createdAt), Date.parse(expiresAt)];
  const done = Math.min(1, Math.max(0, (nowMs - from) / Math.max(1, to - from)));
  const left = to - nowMs;
  const tone = left <= 0 ? 'bad' : left < SOON_MS ? 'warn' : 'good';
  return (
    <>
      <div class={`time-line ${tone}`} aria-hidden="true">
        <span style={{ width: `${(done * 100).toFixed(2)}%` }} />
      </div>
      <div class="row between small quiet">
        <span>made {moment(createdAt)}</span>
        <span class={tone === 'good' ? '' : 'strong'}>
          {left <= 0 ? 'ended' : 'ends'} {fromNow(expiresAt, nowMs)}
        </span>
        <span>
          {moment(expiresAt)}
          {expiryKnown ? '' : ', assumed: a year from its first use'}
        </span>
      </div>
    </>
  );
}
