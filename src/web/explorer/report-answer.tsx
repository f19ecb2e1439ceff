/** The answer: its origin, warnings, chart and rows. */

import { useMemo } from 'preact/hooks';
import { counted, moment } from '../ui/format.js';
import { type Explained, KeptDays, KeptFigures, KeptWords } from '../ui/kept.js';
import { Button, Card, Empty, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { columnsOf } from './columns.js';
import { CompareReport, CompareWith } from './compare-report.js';
import { CodePanel } from './panel-code.js';
import { DiffPanel } from './panel-diff.js';
import type { Meta } from './parse.js';
import { PinButton } from './pin-button.js';
import { aboutPath, pathOf, type Question, type Viewed } from './question.js';
import { ReportChart } from './report-chart.js';
import { ReportTable } from './report-table.js';
import { type Shown, useReport } from './use-report.js';

export function ReportAnswer(props: Viewed) {
  return (
    <Wait of={useReport(props.question)} looking="Loading the report …">
      {(report) => (
        <>
          <AnswerHead {...props} report={report} />
          <Panel {...props} />
          <CompareReport question={props.question} report={report} view={props.view} />
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

interface AnsweredProps extends Viewed {
  readonly report: Shown;
}

function ChartAndRows({ report, view, setView }: AnsweredProps) {
  const columns = useMemo(() => columnsOf(report.rows), [report]);
  const measures = columns.filter(({ numeric }) => numeric);
  const metric = measures.find(({ name }) => name === view.metric) ?? measures[0];
  return (
    <>
      {metric === undefined ? null : (
        <ReportChart report={report} measures={measures} metric={metric} setView={setView} />
      )}
      <ReportTable report={report} columns={columns} view={view} setView={setView} />
    </>
  );
}

/** The open panel. */
function Panel(props: Viewed) {
  switch (props.view.panel) {
    case 'explain':
      return <ExplainPanel question={props.question} />;
    case 'code':
      return <CodePanel {...props} />;
    case 'diff':
      return <DiffPanel {...props} />;
    default:
      return null;
  }
}

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
          <Button {...opens('diff')} label="Changes" />
          <Button {...opens('code')} label="Code" />
          <PinButton question={question} revision={meta.revision ?? null} />
          <a href={pathOf(question, { _format: 'csv', _bom: '1' })} download>
            CSV
          </a>
        </div>
      </div>
      <CompareWith against={view.against} setView={setView} />
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

function ExplainPanel({ question }: { readonly question: Question }) {
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
