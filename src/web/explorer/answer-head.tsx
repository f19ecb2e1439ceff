/** The head of an answer: its report, advertisers and days, the tools, the period to compare with, and warnings. */
import type { ComponentChildren } from 'preact';
import { Card } from '../ui/parts.js';
import { AgainstLine } from './against-line.js';
import { CopyLink } from './copy-link.js';
import type { Later } from './marks.js';
import { counted } from './numbers.js';
import type { Meta } from './parse.js';
import { ofNow, reportHref, thenWords, type Viewed } from './question.js';
import { Known, type StaleWhy } from './report-rows.js';
import { closedPeriod, toldPeriod } from './spans.js';

interface HeadProps extends Viewed {
  /** Whose report it is. */
  readonly subject: ComponentChildren;
  /** Null: no report is there yet. */
  readonly meta: Meta | null;
  /** Why it is an older answer, if it is one; null: not known. */
  readonly why: StaleWhy;
  /** Of an earlier time; null or absent: not known. */
  readonly later?: Later | null;
  /** Asks for the same report again. */
  readonly again?: () => void;
  /** Before and after the button that copies the link. */
  readonly tools?: ComponentChildren;
  readonly moreTools?: ComponentChildren;
  /** Of the advertisers, below the title. */
  readonly children?: ComponentChildren;
}

export const AnswerHead = ({
  subject,
  meta,
  why,
  later = null,
  again,
  tools,
  moreTools,
  children,
  ...viewed
}: HeadProps) => (
  <Card>
    <div class="toolbar">
      <div>
        <h2>
          {viewed.about.title} · {subject}
          {meta === null ? '' : ` · ${toldPeriod(meta.period)}`}
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
    {viewed.question.asOf === '' || meta === null ? null : <EarlierTime {...viewed} />}
    {children}
    {meta === null ? null : <Known {...{ meta, why, later, again }} isPast={viewed.question.asOf !== ''} />}
  </Card>
);

const EarlierTime = ({ question, view }: Viewed) => (
  <p class="note warn" role="status">
    <strong>Numbers as they were on {thenWords(question.asOf)}</strong>, not those of now. Totals have no
    history: sums of these rows are shown.{' '}
    <a href={reportHref(ofNow(question), view)}>Show the numbers of now</a>
  </p>
);
