/** The team's limits, usage, scopes and advertisers. */
import { Chart } from '../ui/chart.js';
import { compact, count, fromNow, lastDays } from '../ui/format.js';
import { Card, Empty, Figure, Figures, Name, Wait } from '../ui/parts.js';
import { ScopeList } from '../ui/scopes.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import type { Advertisers as All } from './advertiser-names.js';
import { concurrentRequests, type Me, platformCalls } from './applied-limits.js';
import { spansOf } from './spans.js';
import { SEEN, useTeam } from './team.js';

type UsageDay = NonNullable<Me['usage']>[number];

export function Access() {
  const me = useGet<Me>('/gateway/v1/me');
  return (
    <View title="My access" lead="Scopes and limits of the team, and its usage.">
      <Wait of={me}>
        {(known) => (
          <>
            <Left me={known} />
            <Card title="Usage of the last 30 days">
              <Usage usage={known.usage} />
            </Card>
            <Card title="Scopes">
              <ScopeList scopes={known.scopes} />
            </Card>
            <Advertisers all={known.advertisers === '*'} />
          </>
        )}
      </Wait>
    </View>
  );
}

function Left({ me }: { readonly me: Me }) {
  const { limits, left, key, credential } = me;
  const { person, expiresAt } = useTeam().session;
  const now = Date.now();
  const { requestsPerMinute: requests } = left;
  return (
    <Figures>
      <Figure
        label="Requests left this minute"
        value={requests < 100_000 ? count(requests) : compact(requests)}
        note={`of ${count(limits.requestsPerMinute)}`}
      />
      <Figure {...platformCalls(me, now)} />
      <Figure {...concurrentRequests(me)} />
      <Figure label="Longest period" value={`${count(limits.maxRangeDays)} days`} />
      {person !== null ? (
        <Figure label="Session ends" value={fromNow(expiresAt, now)} note="at the latest" />
      ) : (
        <Figure
          label="Key expires"
          value={key.expiresAt === null ? 'never' : fromNow(key.expiresAt, now)}
          note={
            <>
              {key.label === '' ? null : <bdi>{key.label}, </bdi>}created {fromNow(key.createdAt, now)}
            </>
          }
        />
      )}
      <Figure
        label="Platform credential"
        value={credential.state}
        tone={credential.state === 'ok' ? 'good' : 'warn'}
      />
    </Figures>
  );
}

function Usage({ usage }: Pick<Me, 'usage'>) {
  if (usage === null) return <Empty>Usage is not available right now.</Empty>;
  if (usage.length === 0) return <Empty>No usage yet.</Empty>;
  const days = lastDays(30);
  // The answer omits days without usage.
  const valuesOf = (of: (day: UsageDay) => number) =>
    days.map((day) => usage.filter((one) => one.day === day).map(of)[0] ?? 0);
  return (
    <Chart
      label="Requests and platform calls by day"
      kind="bars"
      times={days.map((day) => Date.parse(day) / 1000)}
      steps={{ title: 'Day', of: spansOf({ from: days[0] ?? '', to: days.at(-1) ?? '' }, 'day') }}
      lines={[
        { title: 'requests', color: '--c1', values: valuesOf(({ requests }) => requests) },
        { title: 'platform calls', color: '--c3', values: valuesOf((one) => one.upstreamCalls) },
      ]}
    />
  );
}

function Advertisers({ all }: { readonly all: boolean }) {
  const loaded = useGet<All>(SEEN);
  return (
    <Card title={all ? 'Advertisers: all; seen so far' : 'Advertisers'}>
      <Wait of={loaded}>
        {({ advertisers }) =>
          advertisers.length === 0 ? (
            <Empty>No advertiser has been seen in a report yet. Query one by its id.</Empty>
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
