/** The answer: its origin, warnings, chart and rows. */
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { SelectLine } from '../ui/fields.js';
import { counted, moment } from '../ui/format.js';
import { type Explained, KeptDays, KeptFigures, KeptWords } from '../ui/kept.js';
import { Button, Card, Empty, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { columnsOf } from './columns.js';
import { AGAINST } from './compare.js';
import { CompareReport } from './compare-report.js';
import { CodePanel } from './panel-code.js';
import { DiffPanel } from './panel-diff.js';
import type { Meta } from './parse.js';
import { PinButton } from './pin-button.js';
import { aboutPath, pathOf, type Viewed } from './question.js';
import { ReportChart } from './report-chart.js';
import { ReportTable } from './report-table.js';
import { type Shown, useReport } from './use-report.js';

/** @param showsFault whether an error of the question is shown */
export function ReportAnswer({ showsFault, ...props }: Viewed & { readonly showsFault: boolean }) {
  const Panel = PANELS.get(props.view.panel);
  const loaded = useReport(props.question);
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

type AnsweredProps = Viewed & { readonly report: Shown };

function ChartAndRows({ report, view, setView }: AnsweredProps) {
  const columns = useMemo(() => columnsOf(report.rows), [report]);
  const measures = columns.filter(({ numeric }) => numeric);
  const metric = measures.find(({ name }) => name === view.metric) ?? measures[0];
  return (
    <>
      {metric === undefined ? null : <ReportChart {...{ report, measures, metric, setView }} />}
      <ReportTable report={report} columns={columns} view={view} setView={setView} />
    </>
  );
}

/** By name; one at most is open. */
const PANELS = new Map<string, (props: AnsweredProps) => ComponentChildren>([
  ['explain', ExplainPanel],
  ['code', CodePanel],
  ['diff', DiffPanel],
]);

function AnswerHead({ question, report, view, setView }: AnsweredProps) {
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
          <h2>{from === null ? 'Period chosen by the platform' : `${from} to ${to ?? 'the latest day'}`}</h2>
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
          <PinButton question={question} revision={meta.revision ?? null} />
          <a href={pathOf(question, { _format: 'csv', _bom: '1' })} download>
            CSV
          </a>
        </div>
      </div>
      <SelectLine
        label="Compare with"
        options={AGAINST}
        value={view.against}
        choose={(against) => setView({ against })}
      />
      <Known meta={meta} />
    </Card>
  );
}

/** Warnings about the numbers. */
function Known({ meta }: { readonly meta: Meta }) {
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
