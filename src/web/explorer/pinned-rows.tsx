/** One pin: which it is, and its rows as a table. */
import { useState } from 'preact/hooks';
import { Refused } from '../ui/api.js';
import { moment } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { Card, Name, Tag, Wait } from '../ui/parts.js';
import type { Api } from '../ui/session.js';
import { View } from '../ui/shell.js';
import { openWords } from './answered.js';
import { dates } from './dates.js';
import { endpointTitle } from './endpoints.js';
import { counted } from './numbers.js';
import { breathe, parseReport } from './parse.js';
import { linksOf, type Pin, pinPath, questionOf, splitWords, thenOf } from './pinned.js';
import { FIRST_QUESTION, readView } from './question.js';
import { ChartAndRows } from './report-rows.js';
import { closedPeriod, toldPeriod } from './spans.js';
import { useTeam } from './team.js';
import { loadReport, shownPath } from './use-report.js';

interface PinnedProps {
  readonly id: string;
  readonly nameOf: (id: string) => string | null;
}

export function PinnedRows({ id, nameOf }: PinnedProps) {
  const { api } = useTeam();
  const [view, setView] = useState(readView(new URLSearchParams()));
  const path = pinPath(id);
  const loaded = useLoad(path, async (signal) => {
    const answer = await parseReport((await api.raw(`${path}?_format=json`, signal)).text, breathe);
    // Of a pin, the answer has what the list of pins has.
    const pin = answer.meta as typeof answer.meta & Omit<Pin, 'id'>;
    const first = await firstOpen(api, pin, signal);
    const meta = first === undefined ? answer.meta : { ...answer.meta, firstProvisionalDate: first };
    return { pin, report: { ...answer, meta } };
  });
  return (
    <View title="Pinned rows" lead="They do not change any more.">
      <p>
        <a href="#/pins">All pins</a>
      </p>
      <Wait of={loaded}>
        {({ pin, report }) => {
          const advertiserId = String(pin.advertiserId ?? '');
          const advertiser = nameOf(advertiserId);
          const title = endpointTitle(pin.endpoint);
          const question = questionOf(pin) ?? { ...FIRST_QUESTION, endpoint: pin.endpoint, advertiserId };
          return (
            <>
              <PinHead
                {...{ id, pin }}
                open={report.meta.firstProvisionalDate === undefined ? null : openWords(report.meta)}
                title={title}
                subject={advertiser ?? `advertiser ${advertiserId || 'unknown'}`}
              />
              <ChartAndRows
                {...{ question, view, report }}
                about={{ title, advertiser, nameOf, currency: null }}
                setView={(part) => setView((was) => ({ ...was, ...part }))}
                isPinned
              />
            </>
          );
        }}
      </Wait>
    </View>
  );
}

interface OfPin {
  readonly pin: Omit<Pin, 'id'>;
}

interface HeadProps extends OfPin {
  readonly id: string;
  /** Days that the platform was still completing; null: not known. */
  readonly open: string | null;
  readonly title: string;
  readonly subject: string;
}

function PinHead({ id, pin, open, title, subject }: HeadProps) {
  const then = thenOf(pin);
  return (
    <Card>
      <h2>
        {title} · <bdi>{subject}</bdi> · {toldPeriod(pin.period)}
      </h2>
      {pin.note === null ? null : (
        <p>
          Note: <Name>{pin.note}</Name>
        </p>
      )}
      <p>
        Pinned on <PinnedBy pin={pin} isLong />, {counted(pin.rowCount, 'row')} {splitWords(pin.split)}{' '}
        <PinState {...{ pin, open }} />
      </p>
      {then === null ? null : <p>Numbers as last read before {then}.</p>}
      <p class="row">
        <PinLinks id={id} pin={pin} />
        <a href={`${pinPath(id)}?_format=json`} download={`${id}.json`}>
          JSON
        </a>
      </p>
    </Card>
  );
}

/** What a pin leads to. */
export function PinLinks({ id, pin }: OfPin & { readonly id: string }) {
  const { live, changed } = linksOf(id, pin);
  return (
    <>
      <a href={`${pinPath(id)}?_format=csv&_bom=1`} download={`${id}.csv`}>
        CSV
      </a>
      {live === null ? null : <a href={live}>Live report</a>}
      {changed === null ? null : <a href={changed}>What changed since</a>}
    </>
  );
}

/** `Nov 29, 2026 by growth`. @param isLong with the time */
export function PinnedBy({
  pin: { createdAt, createdBy },
  isLong = false,
}: OfPin & { readonly isLong?: boolean }) {
  return (
    <span>
      <span class="nowrap" title={moment(createdAt)}>
        {isLong ? moment(createdAt) : dates.full(createdAt)}
      </span>
      {createdBy === null ? null : (
        <span class="small quiet nowrap">
          {' '}
          by <bdi>{createdBy}</bdi>
        </span>
      )}
    </span>
  );
}

/** A pin does not say which days are not final. @param open those, if they are known */
export const PinState = ({ pin: { final }, open }: OfPin & { readonly open?: string | null }) => (
  <Tag tone={final ? 'good' : 'warn'}>
    {final ? 'final' : `${open === null ? 'some days ' : open ? `${open} ` : ''}provisional then`}
  </Tag>
);

/** The first day that the platform was still completing, as history has it at the time of the numbers; undefined: not known. */
async function firstOpen(api: Api, pin: Omit<Pin, 'id'>, signal: AbortSignal): Promise<string | undefined> {
  const [question, days] = [questionOf(pin), closedPeriod(pin.period)];
  if (pin.final || days === null || question?.splits.includes('byDate') !== true) return undefined;
  const then = { ...question, period: '', dateFrom: days.from, dateTo: days.to, asOf: pin.knownAt };
  try {
    const { meta } = await loadReport(api, shownPath(then), signal);
    return meta.days?.find(({ final }) => !final)?.date;
  } catch (error) {
    // History is kept for a shorter time than pins.
    if (error instanceof Refused) return undefined;
    throw error;
  }
}
