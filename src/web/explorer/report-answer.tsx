/** What came: how it was answered, what is to be known of it, the chart and the rows. */

import { useMemo } from 'preact/hooks';
import { counted, moment } from '../ui/format.js';
import { type Explained, KeptDays, KeptFigures, KeptWords } from '../ui/kept.js';
import { Card, Empty, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { columnsOf } from './columns.js';
import { CompareReport, CompareWith } from './compare-report.js';
import { CodePanel } from './panel-code.js';
import { DiffPanel } from './panel-diff.js';
import type { Meta } from './parse.js';
import { PinButton } from './pin-button.js';
import { aboutPath, pathOf, type Question, type SetView, type ViewState } from './question.js';
import { ReportChart } from './report-chart.js';
import { ReportTable } from './report-table.js';
import { type Shown, useReport } from './use-report.js';

interface AnswerProps {
  readonly question: Question;
  readonly view: ViewState;
  readonly setView: SetView;
}

export function ReportAnswer({ question, view, setView }: AnswerProps) {
  return (
    <Wait of={useReport(question)} looking="Loading the report …">
      {(report) => (
        <>
          <AnswerHead question={question} report={report} view={view} setView={setView} />
          <Panel question={question} view={view} setView={setView} />
          <CompareReport question={question} report={report} view={view} />
          {report.rows.length === 0 ? (
            <Empty>The platform has no rows for this query.</Empty>
          ) : (
            <ChartAndRows report={report} view={view} setView={setView} />
          )}
        </>
      )}
    </Wait>
  );
}

interface RowsProps {
  readonly report: Shown;
  readonly view: ViewState;
  readonly setView: SetView;
}

function ChartAndRows({ report, view, setView }: RowsProps) {
  const columns = useMemo(() => columnsOf(report.rows), [report]);
  const measures = columns.filter(({ measure }) => measure);
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

/** Of those that are named by the address, the one that is open. */
function Panel({ question, view, setView }: AnswerProps) {
  switch (view.panel) {
    case 'explain':
      return <ExplainPanel question={question} />;
    case 'code':
      return <CodePanel question={question} view={view} setView={setView} />;
    case 'diff':
      return <DiffPanel question={question} view={view} setView={setView} />;
    default:
      return null;
  }
}

interface HeadProps extends AnswerProps {
  readonly report: Shown;
}

function AnswerHead({ question, report, view, setView }: HeadProps) {
  const { meta, answered } = report;
  const opens = (panel: string) => ({
    type: 'button' as const,
    'aria-expanded': view.panel === panel,
    onClick: () => setView({ panel: view.panel === panel ? '' : panel }, true),
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
          <button {...opens('explain')} class={`badge ${answered.tone}`} title="Cache state">
            {answered.words}
          </button>
          <button {...opens('diff')}>Changes</button>
          <button {...opens('code')}>Code</button>
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

/** What is to be known before the numbers are believed. */
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

// How the report on screen is kept, and what asking for it again would cost; the platform is not asked.

function ExplainPanel({ question }: { readonly question: Question }) {
  const loaded = useGet<Explained>(aboutPath('explain', question));
  const again = (
    <button type="button" class="plain" onClick={loaded.reload}>
      Look again
    </button>
  );
  return (
    <Card title="Cache state" tools={again}>
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
