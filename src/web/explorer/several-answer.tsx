/** The reports of several advertisers together: how far they are, each one's totals, then chart and rows of all. */
import { useEffect, useMemo } from 'preact/hooks';
import { AnswerHead } from './answer-head.js';
import { CompareReport } from './compare-report.js';
import { useIsForbidden } from './forbidden.js';
import { isNotKnownThen } from './not-known-then.js';
import { counted } from './numbers.js';
import { KnownOfAll } from './platform-away.js';
import type { Period, Viewed } from './question.js';
import { ChartAndRows } from './report-rows.js';
import { combine } from './several.js';
import { SeveralCsv } from './several-csv.js';
import { Progress } from './several-progress.js';
import { AdvertisersTable } from './several-table.js';
import { closedPeriod } from './spans.js';
import { isOpen, type Load, partsOf, useSeveral } from './use-several.js';

interface SeveralProps extends Viewed {
  /** Called with the name of each advertiser that has one. */
  readonly tell: (id: string, name: string) => void;
  /** Called with the days of the report. */
  readonly tellDays: (days: Period | null) => void;
  /** One that is loaded already. */
  readonly known: Load | null;
}

export function SeveralAnswer({ tell, tellDays, known, ...props }: SeveralProps) {
  const { question } = props;
  const { nameOf } = props.about;
  const several = useSeveral(question, known);
  const isForbidden = useIsForbidden();
  const parts = useMemo(() => partsOf(several.loads, nameOf), [several.loads, nameOf]);
  useEffect(() => {
    for (const { id, name } of parts) if (name !== null) tell(id, name);
  }, [parts]);
  const report = useMemo(() => (parts.length === 0 ? null : combine(parts)), [parts]);
  useEffect(() => {
    if (report !== null) tellDays(closedPeriod(report.meta.period));
  }, [report]);
  const [first, ...others] = parts.map(({ id }) => id);
  const isDone = !several.loads.some(isOpen);
  return (
    <>
      <AnswerHead
        {...props}
        subject={counted(several.loads.length, 'advertiser')}
        report={report}
        again={several.again}
      >
        <Progress
          several={several}
          nameOf={nameOf}
          mayCome={several.loads.some(
            (load) =>
              load.is === 'stopped' ||
              (load.is === 'failed' && !isForbidden(load.error, load.id) && !isNotKnownThen(load.error)),
          )}
        />
        {isDone ? <KnownOfAll {...props} loads={several.loads} /> : null}
        <AdvertisersTable {...props} loads={several.loads} parts={parts} />
        <p class="small quiet">
          What changed, code, pins and cache state are of one advertiser: open it by its name.
        </p>
      </AnswerHead>
      {report === null || first === undefined ? null : (
        <>
          {isDone ? (
            <CompareReport
              {...props}
              question={{ ...question, advertiserId: first, others }}
              report={report}
              parts={parts}
            />
          ) : null}
          <ChartAndRows
            {...props}
            report={report}
            hasTotals
            csv={isDone ? <SeveralCsv question={question} parts={parts} period={report.meta.period} /> : null}
          />
        </>
      )}
    </>
  );
}
