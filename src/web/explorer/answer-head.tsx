/** The head of an answer: its report, advertisers and days, the tools, the period to compare with, the age of the numbers, and warnings. */
import type { ComponentChildren } from 'preact';
import { Card } from '../ui/parts.js';
import { AgainstLine } from './against-line.js';
import { lastReadWords } from './answered.js';
import { CopyLink } from './copy-link.js';
import { Known } from './known.js';
import type { Later } from './marks.js';
import { counted } from './numbers.js';
import type { Meta, Report } from './parse.js';
import { ofNow, reportHref, thenWords, type Viewed } from './question.js';
import { closedPeriod, toldPeriod } from './spans.js';

interface HeadProps extends Viewed {
  /** Whose report it is. */
  readonly subject: ComponentChildren;
  /** Null: none is there yet. */
  readonly report: Report | null;
  /** Of an earlier time; null or absent: not known. */
  readonly later?: Later | null;
  /** Asks for the same report again. */
  readonly again?: () => void;
  /** Beside the age of the numbers. */
  readonly details?: ComponentChildren;
  /** Before and after the button that copies the link. */
  readonly tools?: ComponentChildren;
  readonly moreTools?: ComponentChildren;
  /** Of the advertisers, below the title. */
  readonly children?: ComponentChildren;
}

export function AnswerHead(props: HeadProps) {
  const { subject, report, later = null, again, details, tools, moreTools, children, ...viewed } = props;
  const meta = report?.meta ?? null;
  const isPast = viewed.question.asOf !== '';
  return (
    <Card>
      <div class="toolbar">
        <div>
          <h2>
            {viewed.about.title} · {subject}
            {meta === null ? null : (
              <>
                {' '}
                · <span class="nowrap">{toldPeriod(meta.period)}</span>
              </>
            )}
          </h2>
          <p class="small quiet">
            {meta === null ? 'Asked one after another' : counted(meta.rowCount, 'row')}
            {meta?.split.includes('date') && viewed.view.by !== '' ? ' by day' : ''}
          </p>
        </div>
        <div class="tools">
          {tools}
          <CopyLink {...viewed} period={meta?.period ?? null} />
          {moreTools}
          <AgainstLine {...viewed} now={closedPeriod(meta?.period)} />
        </div>
      </div>
      {isPast && meta !== null ? <EarlierTime {...viewed} meta={meta} /> : null}
      {children}
      {report === null ? null : <Known {...{ report, isPast, later, again, details }} />}
    </Card>
  );
}

/** Each split is read on its own, so that of one day they may have other numbers. */
function EarlierTime({ question, view, meta }: Viewed & { readonly meta: Meta }) {
  const then = thenWords(question.asOf);
  const read = lastReadWords(meta);
  return (
    <p class="note warn" role="status">
      <strong>{read === null ? `Numbers as they were on ${then}` : `As of ${then} – ${read}`}</strong>, not
      those of now. {read === null ? '' : 'Days seen changed later have ~; each split is read on its own. '}
      Totals have no history: sums of these rows are shown.{' '}
      <a href={reportHref(ofNow(question), view)}>Show the numbers of now</a>
    </p>
  );
}
