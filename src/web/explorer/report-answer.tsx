/** The answer: its origin, warnings, chart and rows. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type Explained, KeptDays, KeptFigures, KeptWords } from '../ui/kept.js';
import { useNotices } from '../ui/notices.js';
import { Button, Card, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { AnswerHead } from './answer-head.js';
import { CompareReport } from './compare-report.js';
import { Forbidden, useIsForbidden } from './forbidden.js';
import type { Later } from './marks.js';
import { isNotKnownThen, isNotYet, NotKnownThen, NotYet } from './not-known-then.js';
import { CodePanel } from './panel-code.js';
import { DiffPanel } from './panel-diff.js';
import { PinButton } from './pin-button.js';
import { isAway, PlatformAway } from './platform-away.js';
import { aboutPath, openerOf, type Period, pathOf, type Viewed } from './question.js';
import { ChartAndRows } from './report-rows.js';
import { nameIn } from './several.js';
import { SeveralAnswer } from './several-answer.js';
import { CSV_LABEL, CSV_TITLE } from './several-csv.js';
import { closedPeriod } from './spans.js';
import { useTeam } from './team.js';
import { useLater } from './use-later.js';
import { type Shown, shownPath, useReport } from './use-report.js';
import type { LoadOf } from './use-several.js';

interface ReportAnswerProps extends Viewed {
  /** Called with the name of an advertiser that had none. */
  readonly tell: (id: string, name: string) => void;
  /** Called with the days of each report. */
  readonly tellDays: (days: Period | null) => void;
}

export function ReportAnswer(props: ReportAnswerProps) {
  const last = useRef<LoadOf<'loaded'> | null>(null);
  // An advertiser that is added to one is asked alone.
  return props.question.others.length === 0 ? (
    <OneAnswer
      {...props}
      keep={(load) => {
        last.current = load;
      }}
    />
  ) : (
    <SeveralAnswer {...props} known={last.current} />
  );
}

interface OneProps extends ReportAnswerProps {
  readonly keep: (load: LoadOf<'loaded'>) => void;
}

function OneAnswer({ tell, tellDays, keep, ...props }: OneProps) {
  const Panel = PANELS.get(props.view.panel);
  const loaded = useReport(props.question);
  const isForbidden = useIsForbidden();
  const later = useLater(props.question, loaded.value);
  const name = loaded.value === null ? null : nameIn(loaded.value);
  useEffect(() => {
    if (loaded.value === null) return;
    const { advertiserId: id } = props.question;
    if (name !== null && props.about.advertiser === null) tell(id, name);
    tellDays(closedPeriod(loaded.value.meta.period));
    keep({ id, path: shownPath(props.question), is: 'loaded', report: loaded.value });
  }, [loaded.value]);
  if (isForbidden(loaded.error, props.question.advertiserId)) return <Forbidden {...props} />;
  if (isNotKnownThen(loaded.error) && props.question.asOf !== '')
    return <NotKnownThen {...props} error={loaded.error} />;
  if (isNotYet(loaded.error, props.question)) return <NotYet {...props} />;
  if (loaded.value === null && isAway(loaded.error, props.question))
    return <PlatformAway {...props} error={loaded.error} again={loaded.reload} />;
  return (
    <Wait of={loaded} looking="Loading the report …">
      {(report) => (
        <>
          <OneHead {...props} {...{ report, later }} again={loaded.reload} />
          {Panel === undefined ? null : <Panel {...props} report={report} />}
          <CompareReport {...props} report={report} />
          <ChartAndRows
            {...props}
            {...{ report, later }}
            csv={
              <a href={pathOf(props.question, { _format: 'csv', _bom: '1' })} title={CSV_TITLE} download>
                {CSV_LABEL}
              </a>
            }
          />
        </>
      )}
    </Wait>
  );
}

interface AnsweredProps extends Viewed {
  readonly report: Shown;
}

/** By name; one at most is open. */
const PANELS = new Map<string, (props: AnsweredProps) => ComponentChildren>([
  ['explain', ExplainPanel],
  ['code', CodePanel],
  ['diff', DiffPanel],
]);

interface OneHeadProps extends AnsweredProps {
  readonly later: Later | null;
  readonly again: () => void;
}

function OneHead(props: OneHeadProps) {
  const { report, again, ...viewed } = props;
  const { question, about } = viewed;
  const { api, session } = useTeam();
  const { act } = useNotices();
  const opens = (panel: string) => openerOf(viewed, panel);
  const fetchNow = () =>
    act(() => api.raw(shownPath(question), undefined, true), 'Fetched from the platform now.').then(again);
  return (
    <AnswerHead
      {...props}
      subject={<bdi>{about.advertiser ?? nameIn(report) ?? `advertiser ${question.advertiserId}`}</bdi>}
      details={
        <>
          {session.scopes.includes('cache:refresh') ? (
            <Button
              label="Fetch now"
              class="plain"
              title="Asks the platform for all days anew, at the cost of its calls"
              act={fetchNow}
            />
          ) : null}
          <Button {...opens('explain')} label="Details" class="plain" title="Cache state" />
        </>
      }
      tools={
        <>
          <Button {...opens('diff')} label="What changed" />
          <Button {...opens('code')} label="Code" />
        </>
      }
      moreTools={<PinButton question={question} meta={report.meta} />}
    />
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
