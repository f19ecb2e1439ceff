/** First a verdict with what to do, then what happened, then who asked. */
import { Choice, Wait } from '../ui/parts.js';
import { go, hrefOf, useRoute } from '../ui/route.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { Ledger, type LedgerAnswer } from './ledger.js';
import { OverviewCharts, OverviewFigures } from './overview-charts.js';
import { RANGES, type Range, type SeriesAnswer } from './series.js';
import { type Status, VerdictCard } from './verdict.js';

const LIVE_MS = 10_000;

export function Overview() {
  const { query } = useRoute();
  const range = RANGES.find(({ value }) => value === query.get('range'))?.value ?? '1h';
  const status = useGet<Status>('/admin/v1/status', LIVE_MS);
  const series = useGet<SeriesAnswer>(`/admin/v1/series?range=${range}`, LIVE_MS);
  const ledger = useGet<LedgerAnswer>(`/admin/v1/series/teams?range=${range}`, LIVE_MS);
  const choose = (value: Range) => go(hrefOf(['overview'], { range: value }));
  return (
    <View
      title="Overview"
      lead="What the gateway does right now. The numbers are refreshed every ten seconds."
      tools={<Choice label="Range" options={RANGES} value={range} choose={choose} />}
    >
      <Wait of={status}>{(value) => <VerdictCard status={value} />}</Wait>
      <Wait of={series}>
        {(value) => (
          <>
            <OverviewFigures answer={value} />
            <OverviewCharts answer={value} />
          </>
        )}
      </Wait>
      <Wait of={ledger}>{(value) => <Ledger answer={value} />}</Wait>
    </View>
  );
}
