/** Learned finality, and results of fetching days again, by age of the day. */
import { useState } from 'preact/hooks';
import type { AnswerTo } from '../../../api/operations/table.js';
import { Chart } from '../../ui/chart.js';
import { Field, Select } from '../../ui/fields.js';
import { count, counted, percent } from '../../ui/format.js';
import { useLoad } from '../../ui/load.js';
import { Card, Empty, Wait } from '../../ui/parts.js';
import { go, hrefOf } from '../../ui/route.js';
import { useAdmin } from '../admin.js';
import { useAdvertisers } from '../teams/advertisers.js';
import type { Explained } from './explained.js';

type FinalityAnswer = AnswerTo<'GET /admin/v1/finality'>;
type TruthAnswer = AnswerTo<'GET /admin/v1/truth'>;
type FinalityScope = FinalityAnswer['data'][number];

export function LearnedOfReport({ explained: { report, days } }: { readonly explained: Explained }) {
  return (
    <Card title="When days stop changing, and whether they were served right">
      {days === null ? (
        <Empty>The report is not by date, so nothing is learned about its days.</Empty>
      ) : (
        <Curves about={new URLSearchParams({ endpoint: report.endpoint, query: report.query }).toString()} />
      )}
    </Card>
  );
}

/** @param advertiser id; empty: none */
export function LearnedOfAdvertiser({ advertiser }: { readonly advertiser: string }) {
  const { all } = useAdvertisers();
  const isKnown = all.some(({ id }) => String(id) === advertiser);
  return (
    <Card title="When days stop changing, and whether they were served right">
      <Field label="Advertiser" help="Observed of its reports by date; most recently seen first.">
        <Select
          value={advertiser}
          choose={(value) => go(hrefOf(['cache'], { advertiser: value }))}
          options={[
            ['', 'Select one'],
            ...(advertiser === '' || isKnown ? [] : [advertiser]),
            ...all.map(({ id, name }) => [String(id), name === null ? `${id}` : `${id} · ${name}`] as const),
          ]}
        />
      </Field>
      {advertiser === '' ? null : (
        <Curves key={advertiser} about={new URLSearchParams({ advertiserId: advertiser }).toString()} />
      )}
    </Card>
  );
}

const nameOf = ({ endpoint, split }: Pick<FinalityScope, 'endpoint' | 'split'>) =>
  `${endpoint} by ${split.join(', ')}`;

/** Replicas write their observations as often. */
const LIVE_MS = 30_000;

/** @param about query of both calls */
function Curves({ about }: { readonly about: string }) {
  const { api } = useAdmin();
  const [chosen, setChosen] = useState('');
  const both = useLoad(
    `learned ${about}`,
    async (signal) => {
      const [finality, truth] = await Promise.all([
        api.get<FinalityAnswer>(`/admin/v1/finality?${about}`, signal),
        api.get<TruthAnswer>(`/admin/v1/truth?${about}`, signal),
      ]);
      return { finality, truth };
    },
    LIVE_MS,
  );
  return (
    <Wait of={both}>
      {({ finality, truth }) => {
        const names = [...new Set([...finality.data, ...truth.data].map(nameOf))];
        const name = names.includes(chosen) ? chosen : names[0];
        if (name === undefined)
          return <Empty>Nothing is known of reports by date yet: days must be fetched more than once.</Empty>;
        return (
          <>
            {names.length === 1 ? null : (
              <Field label="Reports">
                <Select options={names} value={name} choose={setChosen} />
              </Field>
            )}
            <div class="grid">
              <Finality answer={finality} scope={finality.data.find((one) => nameOf(one) === name)} />
              <Truth answer={truth} scope={truth.data.find((one) => nameOf(one) === name)} />
            </div>
          </>
        );
      }}
    </Wait>
  );
}

/** @param scope undefined: nothing is known of it */
type CurveProps<A extends FinalityAnswer | TruthAnswer> = { answer: A; scope: A['data'][number] | undefined };

function Finality({ answer: { meta }, scope }: CurveProps<FinalityAnswer>) {
  if (scope === undefined) return <Empty>It is not known yet when its days stop changing.</Empty>;
  const { ages, windowDays, settledFromDays } = scope;
  return (
    <div class="stack">
      <h3>Days that changed after they were fetched, by their age</h3>
      <p>
        A day older than <strong>{counted(windowDays, 'day')}</strong> counts as final: the gateway does not
        expect it to change.{' '}
        {settledFromDays === null
          ? 'From which age no day changes is not known yet.'
          : `No day of ${counted(settledFromDays, 'day')} or more was ever seen to change.`}
      </p>
      {ages.length === 0 ? (
        <Empty>{meta.notLearned ?? 'No day has been fetched twice yet.'}</Empty>
      ) : (
        <Chart
          label="Share of days that changed later, by age of the day"
          along="age"
          times={ages.map(({ ageDays }) => ageDays)}
          format={(value) => percent(value / 100)}
          lines={[
            {
              title: 'at most, roughly',
              color: '--c6',
              dashed: true,
              values: ages.map(({ changedPercentAtMost }) => changedPercentAtMost),
            },
            {
              title: 'changed',
              color: '--c1',
              values: ages.map(({ n, changed }) => (n === 0 ? null : (100 * changed) / n)),
            },
          ]}
        />
      )}
      <p class="small quiet">{meta.approximate}</p>
    </div>
  );
}

function Truth({ answer: { meta }, scope }: CurveProps<TruthAnswer>) {
  const ages = scope?.ages ?? [];
  const asked = ages.reduce((sum, { n }) => sum + n, 0);
  const wrong = ages.reduce((sum, one) => sum + one.wrong, 0);
  return (
    <div class="stack">
      <h3>Days that were fetched again to check them, by their age</h3>
      {asked === 0 ? (
        <Empty>{meta.notMeasured ?? 'No day has been fetched again yet.'}</Empty>
      ) : (
        <>
          <p>
            {counted(asked, 'day was', 'days were')} fetched again; <strong>{count(wrong)}</strong> of them
            had been served incorrectly.
          </p>
          <Chart
            label="Days that were fetched again, by result and age"
            along="age"
            kind="stacked bars"
            times={ages.map(({ ageDays }) => ageDays)}
            lines={[
              { title: 'same', color: '--c2', values: ages.map(({ same }) => same) },
              { title: 'corrected since', color: '--c3', values: ages.map(({ restated }) => restated) },
              {
                title: 'other since, reason unknown',
                color: '--c7',
                values: ages.map((one) => one.differsSince),
              },
              { title: 'served wrong', color: '--c8', values: ages.map((one) => one.wrong) },
            ]}
          />
        </>
      )}
      <p class="small quiet">
        The platform does not give its numbers of a past moment, so the gateway fetches days again and
        compares.
      </p>
    </div>
  );
}
