/** The answer: its origin, warnings, chart and rows. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { moment } from '../ui/format.js';
import { type Explained, KeptDays, KeptFigures, KeptWords } from '../ui/kept.js';
import { Button, Card, Empty, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { AgainstLine } from './against-line.js';
import { columnsOf, SAMPLE, widthOf } from './columns.js';
import { CompareReport } from './compare-report.js';
import { CopyLink } from './copy-link.js';
import { Forbidden, useIsForbidden } from './forbidden.js';
import { rowsBy } from './group.js';
import { calculatedColumns, withMeasures } from './measures.js';
import { counted } from './numbers.js';
import { CodePanel } from './panel-code.js';
import { DiffPanel } from './panel-diff.js';
import type { Meta, Report } from './parse.js';
import { PinButton } from './pin-button.js';
import { type About, aboutPath, DATE, daysOf, type Period, pathOf, type Viewed } from './question.js';
import { ReportChart } from './report-chart.js';
import { ReportTable } from './report-table.js';
import { SeveralAnswer } from './several-answer.js';
import { periodWords, type Span, type SpanName, spanIn, spansOf } from './spans.js';
import { type Shown, useReport } from './use-report.js';

export interface AnswerProps extends Viewed {
  readonly about: About;
}

/** @param showsFault whether an error of the question is shown */
export function ReportAnswer(props: AnswerProps & { readonly showsFault: boolean }) {
  return props.question.others.length === 0 ? <OneAnswer {...props} /> : <SeveralAnswer {...props} />;
}

function OneAnswer({ showsFault, ...props }: AnswerProps & { readonly showsFault: boolean }) {
  const Panel = PANELS.get(props.view.panel);
  const loaded = useReport(props.question);
  const isForbidden = useIsForbidden();
  if (isForbidden(loaded.error, props.question.advertiserId)) return <Forbidden {...props} />;
  return (
    <Wait of={showsFault ? loaded : { ...loaded, error: null }} looking="Loading the report …">
      {(report) => (
        <>
          <AnswerHead {...props} report={report} />
          {Panel === undefined ? null : <Panel {...props} report={report} />}
          <CompareReport {...props} report={report} />
          {report.rows.length === 0 ? (
            <Empty>The platform has no rows for this query.</Empty>
          ) : (
            <ChartAndRows {...props} report={report} />
          )}
        </>
      )}
    </Wait>
  );
}

type AnsweredProps = AnswerProps & { readonly report: Shown };

interface RowsProps extends Omit<AnswerProps, 'question'> {
  readonly report: Report;
}

export function ChartAndRows({ report: loaded, about, view, setView }: RowsProps) {
  const { currency } = about;
  const { columns, report, spans } = useMemo(
    () => arrangedBy(loaded, spanIn(view.by), currency),
    [loaded, view.by, currency],
  );
  const measures = columns.filter(({ numeric }) => numeric);
  const metric = measures.find(({ name }) => name === view.metric) ?? measures[0];
  const byStart = useMemo(() => new Map(spans.map((span) => [span.start, span])), [spans]);
  return (
    <>
      {metric === undefined ? null : (
        <ReportChart {...{ report, measures, metric, spans, about, view, setView }} />
      )}
      <ReportTable
        {...{ report, columns, currency, view, setView }}
        spans={spanIn(view.by) === 'day' ? NO_SPANS : byStart}
      />
    </>
  );
}

const NO_SPANS: ReadonlyMap<string, Span> = new Map();

/** The columns with those that are calculated, and the rows by day, week or month. */
function arrangedBy(loaded: Report, by: SpanName, currency: string | null) {
  const { rows, meta } = loaded;
  const own = columnsOf(rows, currency);
  const columns = [...own, ...calculatedColumns(own)];
  const period = meta.split.includes('date') ? periodOf(loaded) : null;
  const spans = period === null ? [] : spansOf(period, by);
  const shown = period === null || by === 'day' ? rows : rowsBy(rows, daysOf(period), by, meta.split, own);
  const all = withMeasures(shown, columns);
  const sized = columns.map((column) =>
    column.ratio === null ? column : { ...column, width: widthOf(column, all.slice(0, SAMPLE), currency) },
  );
  return { columns: sized, spans, report: { ...loaded, rows: all } };
}

/** That of the answer, else from the first to the last day of its rows. */
function periodOf({ rows, meta }: Report): Period | null {
  const { from = null, to = null } = meta.period ?? {};
  const known = rows.map(({ date }) => String(date)).filter((date) => DATE.test(date));
  known.sort();
  const [first, last] = [from ?? known[0], to ?? known.at(-1)];
  return first === undefined || last === undefined ? null : { from: first, to: last };
}

/** By name; one at most is open. */
const PANELS = new Map<string, (props: AnsweredProps) => ComponentChildren>([
  ['explain', ExplainPanel],
  ['code', CodePanel],
  ['diff', DiffPanel],
]);

function AnswerHead({ question, about, report, view, setView }: AnsweredProps) {
  const { meta, answered } = report;
  const opens = (panel: string) => ({
    'aria-expanded': view.panel === panel,
    act: () => setView({ panel: view.panel === panel ? '' : panel }, true),
  });
  const { from, to } = meta.period ?? { from: null, to: null };
  return (
    <Card>
      <div class="toolbar">
        <div>
          <h2>
            {about.title} ·{' '}
            <bdi>{about.advertiser ?? nameIn(report) ?? `advertiser ${question.advertiserId}`}</bdi> ·{' '}
            {from === null
              ? 'period chosen by the platform'
              : to === null
                ? `from ${from} on`
                : periodWords({ from, to })}
          </h2>
          <p class="small quiet">
            {counted(meta.rowCount, 'row')}
            {meta.asOf === undefined ? '' : `, as of ${moment(meta.asOf)}`}
          </p>
        </div>
        <div class="tools">
          <Button
            {...opens('explain')}
            label={answered.words}
            class={`badge ${answered.tone}`}
            title="Cache state"
          />
          <Button {...opens('diff')} label="What changed" />
          <Button {...opens('code')} label="Code" />
          <CopyLink />
          <PinButton question={question} revision={meta.revision ?? null} />
          <a href={pathOf(question, { _format: 'csv', _bom: '1' })} download>
            CSV
          </a>
        </div>
      </div>
      <AgainstLine view={view} setView={setView} />
      <Known meta={meta} />
    </Card>
  );
}

/** The advertiser's name, if the rows have it. */
function nameIn({ rows: [row] }: Shown): string | null {
  return typeof row?.advertiserName === 'string' ? row.advertiserName : null;
}

/** Warnings about the numbers. */
export function Known({ meta }: { readonly meta: Meta }) {
  const { firstProvisionalDate: first, warnings = [], stale = false } = meta;
  if (first === undefined && warnings.length === 0 && !stale) return null;
  return (
    <ul class="notes">
      {first === undefined ? null : (
        <li class="note warn">
          From <strong>{first}</strong> on the numbers are provisional: the platform is still completing those
          days.
        </li>
      )}
      {stale ? (
        <li class="note warn">
          Some data is no longer fresh: it is being refreshed, or the platform failed.
        </li>
      ) : null}
      {warnings.map(({ code, message }) => (
        <li key={code + message} class="note info">
          <bdi>{message}</bdi>
        </li>
      ))}
    </ul>
  );
}

function ExplainPanel({ question }: Viewed) {
  const loaded = useGet<Explained>(aboutPath('explain', question));
  return (
    <Card title="Cache state" tools={<Button label="Look again" class="plain" act={loaded.reload} />}>
      <Wait of={loaded}>
        {(explained) => (
          <>
            <KeptWords explained={explained} />
            <KeptFigures explained={explained} />
            <KeptDays explained={explained} />
          </>
        )}
      </Wait>
    </Card>
  );
}
