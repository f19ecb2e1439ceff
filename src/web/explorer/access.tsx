/** What the team may do, how much of it is left, and what it used. */
import { Chart } from '../ui/chart.js';
import { compact, count, fromNow } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { Card, Empty, Figure, Figures, Name, Tag, Wait } from '../ui/parts.js';
import { View } from '../ui/shell.js';
import { type Advertiser, useTeam } from './team.js';

interface Me {
  readonly key: { readonly label: string; readonly createdAt: string; readonly expiresAt: string | null };
  readonly scopes: readonly string[];
  readonly advertisers: readonly number[] | '*';
  readonly limits: {
    readonly requestsPerMinute: number;
    readonly upstreamCallsPerDay: number;
    readonly maxRangeDays: number;
    readonly maxConcurrent: number;
  };
  readonly left: {
    readonly requestsPerMinute: number;
    readonly maxConcurrent: number;
    readonly upstreamCallsPerDay: number;
    readonly upstreamCallsResetAt: string;
  };
  readonly credential: { readonly state: string };
  readonly usage:
    | readonly { readonly day: string; readonly requests: number; readonly upstreamCalls: number }[]
    | null;
}

export function Access() {
  const { api } = useTeam();
  const me = useLoad('me', (signal) => api.get<Me>('/gateway/v1/me', signal));
  return (
    <View title="My access" lead="What this key may do, and what is left of it.">
      <Wait of={me}>
        {(known) => (
          <>
            <Left me={known} />
            <Usage usage={known.usage} />
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
  const ends = key.expiresAt === null ? 'never' : fromNow(key.expiresAt, Date.now());
  return (
    <Figures>
      <Figure
        label="Requests left this minute"
        value={
          left.requestsPerMinute < 100_000 ? count(left.requestsPerMinute) : compact(left.requestsPerMinute)
        }
        note={`of ${count(limits.requestsPerMinute)}`}
      />
      <Figure
        label="Platform calls left today"
        value={count(left.upstreamCallsPerDay)}
        note={`of ${count(limits.upstreamCallsPerDay)}, anew ${fromNow(left.upstreamCallsResetAt, Date.now())}`}
      />
      <Figure
        label="At the same time"
        value={count(left.maxConcurrent)}
        note={`of ${count(limits.maxConcurrent)}`}
      />
      <Figure label="Longest period" value={`${count(limits.maxRangeDays)} days`} />
      <Figure
        label="This key ends"
        value={ends}
        note={
          <>
            {key.label === '' ? null : <bdi>{key.label}, </bdi>}made {fromNow(key.createdAt, Date.now())}
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

function Usage({ usage }: { readonly usage: Me['usage'] }) {
  const days = lastDays(usage ?? [], Date.now());
  return (
    <Card title="Usage of 30 days">
      {usage === null || usage.length === 0 ? (
        <Empty>{usage === null ? 'Usage cannot be read now.' : 'Nothing was counted yet.'}</Empty>
      ) : (
        <Chart
          label="Requests and platform calls by day"
          kind="bars"
          times={days.map(({ day }) => Date.parse(day) / 1000)}
          lines={[
            { title: 'requests', color: '--c1', values: days.map(({ requests }) => requests) },
            {
              title: 'platform calls',
              color: '--c3',
              values: days.map(({ upstreamCalls }) => upstreamCalls),
            },
          ]}
        />
      )}
    </Card>
  );
}

const SHOWN_DAYS = 30;

/** Days without anything are not told; a chart has them all. */
function lastDays(usage: NonNullable<Me['usage']>, nowMs: number): NonNullable<Me['usage']> {
  return Array.from({ length: SHOWN_DAYS }, (_, index) => {
    const day = new Date(nowMs - (SHOWN_DAYS - 1 - index) * 86_400_000).toISOString().slice(0, 10);
    return usage.find((one) => one.day === day) ?? { day, requests: 0, upstreamCalls: 0 };
  });
}

function Advertisers({ all }: { readonly all: boolean }) {
  const { api } = useTeam();
  const path = '/gateway/v1/advertisers?limit=1000';
  const loaded = useLoad(path, (signal) => api.get<{ advertisers: readonly Advertiser[] }>(path, signal));
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
