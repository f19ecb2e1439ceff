/** What the team may do, how much of it is left, and what it used. */
import type { AnswerTo } from '../../api/operations/table.js';
import { Chart } from '../ui/chart.js';
import { compact, count, fromNow } from '../ui/format.js';
import { Card, Empty, Figure, Figures, Name, Tag, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { type Advertisers as All, SEEN } from './team.js';

type Me = AnswerTo<'GET /gateway/v1/me'>;
type UsageDay = Pick<NonNullable<Me['usage']>[number], 'day' | 'requests' | 'upstreamCalls'>;

export function Access() {
  const me = useGet<Me>('/gateway/v1/me');
  return (
    <View title="My access" lead="What this key may do, and what is left of it.">
      <Wait of={me}>
        {(known) => (
          <>
            <Left me={known} />
            <Card title="Usage of 30 days">
              <Usage usage={known.usage} />
            </Card>
            <Card title="Scopes">
              <div class="row">
                {known.scopes.map((scope) => (
                  <Tag key={scope}>{scope}</Tag>
                ))}
              </div>
            </Card>
            <Advertisers all={known.advertisers === '*'} />
          </>
        )}
      </Wait>
    </View>
  );
}

function Left({ me: { limits, left, key, credential } }: { readonly me: Me }) {
  const now = Date.now();
  const { requestsPerMinute: requests } = left;
  return (
    <Figures>
      <Figure
        label="Requests left this minute"
        value={requests < 100_000 ? count(requests) : compact(requests)}
        note={`of ${count(limits.requestsPerMinute)}`}
      />
      <Figure
        label="Platform calls left today"
        value={count(left.upstreamCallsPerDay)}
        note={`of ${count(limits.upstreamCallsPerDay)}, anew ${fromNow(left.upstreamCallsResetAt, now)}`}
      />
      <Figure
        label="At the same time"
        value={count(left.maxConcurrent)}
        note={`of ${count(limits.maxConcurrent)}`}
      />
      <Figure label="Longest period" value={`${count(limits.maxRangeDays)} days`} />
      <Figure
        label="This key ends"
        value={key.expiresAt === null ? 'never' : fromNow(key.expiresAt, now)}
        note={
          <>
            {key.label === '' ? null : <bdi>{key.label}, </bdi>}made {fromNow(key.createdAt, now)}
          </>
        }
      />
      <Figure
        label="Platform credential"
        value={credential.state}
        tone={credential.state === 'ok' ? 'good' : 'warn'}
      />
    </Figures>
  );
}

function Usage({ usage }: Pick<Me, 'usage'>) {
  if (usage === null) return <Empty>Usage cannot be read now.</Empty>;
  if (usage.length === 0) return <Empty>Nothing was counted yet.</Empty>;
  const days = lastDays(usage, Date.now());
  return (
    <Chart
      label="Requests and platform calls by day"
      kind="bars"
      times={days.map(({ day }) => Date.parse(day) / 1000)}
      lines={[
        { title: 'requests', color: '--c1', values: days.map(({ requests }) => requests) },
        { title: 'platform calls', color: '--c3', values: days.map((one) => one.upstreamCalls) },
      ]}
    />
  );
}

const SHOWN_DAYS = 30;

/** Days without anything are not told; a chart has them all. */
function lastDays(usage: readonly UsageDay[], nowMs: number): UsageDay[] {
  return Array.from({ length: SHOWN_DAYS }, (_, index) => {
    const day = new Date(nowMs - (SHOWN_DAYS - 1 - index) * 86_400_000).toISOString().slice(0, 10);
    return usage.find((one) => one.day === day) ?? { day, requests: 0, upstreamCalls: 0 };
  });
}

function Advertisers({ all }: { readonly all: boolean }) {
  const loaded = useGet<All>(SEEN);
  return (
    <Card title={all ? 'Advertisers: all, of which were seen' : 'Advertisers'}>
      <Wait of={loaded}>
        {({ advertisers }) =>
          advertisers.length === 0 ? (
            <Empty>None was in an answer yet. Ask for one by its id.</Empty>
          ) : (
            <ul class="notes">
              {advertisers.map(({ id, name }) => (
                <li key={id}>
                  {id} {name === null ? null : <Name>{name}</Name>}
                </li>
              ))}
            </ul>
          )
        }
      </Wait>
    </Card>
  );
}
