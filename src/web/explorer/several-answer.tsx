/** The reports of several advertisers together: how far they are, each one's totals, then chart and rows of all. */
import { useMemo } from 'preact/hooks';
import { Card, Empty } from '../ui/parts.js';
import { AgainstLine } from './against-line.js';
import { CompareReport } from './compare-report.js';
import { CopyLink } from './copy-link.js';
import { useIsForbidden } from './forbidden.js';
import { counted } from './numbers.js';
import type { Report } from './parse.js';
import { type AnswerProps, ChartAndRows, Known } from './report-rows.js';
import { combine, type Part } from './several.js';
import { SeveralCsv } from './several-csv.js';
import { Progress } from './several-progress.js';
import { AdvertisersTable } from './several-table.js';
import { periodWords } from './spans.js';
import { type AdvertiserNames, useNames } from './team.js';
import { isOpen, type Load, useSeveral } from './use-several.js';

export function SeveralAnswer(props: AnswerProps) {
  const { question, about } = props;
  const several = useSeveral(question);
  const names = useNames();
  const isForbidden = useIsForbidden();
  const parts = useMemo(
    () =>
      several.loads.flatMap((load): Part[] =>
        load.is === 'loaded' ? [{ id: load.id, name: nameOf(load, names), report: load.report }] : [],
      ),
    [several.loads, names],
  );
  const report = useMemo(() => (parts.length === 0 ? null : combine(parts)), [parts]);
  const [first, ...others] = parts.map(({ id }) => id);
  const isDone = !several.loads.some(isOpen);
  return (
    <>
      <Card>
        <div class="toolbar">
          <div>
            <h2>
              {about.title} · {counted(several.loads.length, 'advertiser')}
              {report === null ? '' : ` · ${titleOf(report)}`}
            </h2>
            <p class="small quiet">
              {report === null ? 'Asked one after another' : counted(report.meta.rowCount, 'row')}
            </p>
          </div>
          <div class="tools">
            <CopyLink />
            {isDone && parts.length > 0 ? <SeveralCsv question={question} parts={parts} /> : null}
          </div>
        </div>
        <Progress
          several={several}
          nameOf={(id) => names.get(id) ?? id}
          mayCome={several.loads.some(
            (load) => load.is === 'stopped' || (load.is === 'failed' && !isForbidden(load.error, load.id)),
          )}
        />
        <AdvertisersTable
          {...props}
          loads={several.loads}
          parts={parts}
          nameOf={(id) => parts.find((part) => part.id === id)?.name ?? names.get(id) ?? null}
          currency={about.currency}
        />
        <p class="small quiet">
          What changed, code, pins and the state of the cache are of one advertiser: open one by its name.
        </p>
        <AgainstLine {...props} />
        {report === null ? null : <Known meta={report.meta} />}
      </Card>
      {report === null || first === undefined ? null : (
        <>
          {isDone ? (
            <CompareReport
              {...props}
              question={{ ...question, advertiserId: first, others }}
              report={report}
            />
          ) : null}
          {report.rows.length === 0 ? (
            <Empty>The platform has no rows for this query.</Empty>
          ) : (
            <ChartAndRows {...props} report={report} hasTotals />
          )}
        </>
      )}
    </>
  );
}

function titleOf({ meta: { period } }: Report): string {
  const { from = null, to = null } = period ?? {};
  return from === null || to === null ? 'period chosen by the platform' : periodWords({ from, to });
}

/** The name in the rows, else the one that the gateway has seen. */
function nameOf(load: Load, names: AdvertiserNames): string | null {
  const told = load.is === 'loaded' ? load.report.rows[0]?.advertiserName : undefined;
  return typeof told === 'string' ? told : (names.get(load.id) ?? null);
}
