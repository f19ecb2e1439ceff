/** One pin: which it is, and its rows as a table. */
import { useState } from 'preact/hooks';
import { moment } from '../ui/format.js';
import { useLoad } from '../ui/load.js';
import { Card, Name, Tag, Wait } from '../ui/parts.js';
import { View } from '../ui/shell.js';
import { dates } from './dates.js';
import { endpointTitle } from './endpoints.js';
import { counted } from './numbers.js';
import { breathe, parseReport } from './parse.js';
import { linksOf, type Pin, pinPath, questionOf, splitWords, thenOf } from './pinned.js';
import { FIRST_QUESTION, readView } from './question.js';
import { ChartAndRows } from './report-rows.js';
import { toldPeriod } from './spans.js';
import { useTeam } from './team.js';

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
    return { pin: answer.meta as typeof answer.meta & Omit<Pin, 'id'>, report: answer };
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
  readonly title: string;
  readonly subject: string;
}

function PinHead({ id, pin, title, subject }: HeadProps) {
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
        <PinState pin={pin} />
      </p>
      {then === null ? null : <p>Numbers as they were on {then}.</p>}
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
      {live === null ? null : (
        <a href={live} title="The numbers of today">
          Live report
        </a>
      )}
      {changed === null ? null : (
        <a href={changed} title="What the platform changed of these rows since the time of their numbers">
          What changed since
        </a>
      )}
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

/** A pin does not say which days are not final. */
export const PinState = ({ pin: { final, period } }: OfPin) => (
  <span
    title={
      final
        ? 'The platform is not expected to change these numbers any more.'
        : 'Some of these numbers were fetched while the platform was still completing the day. “What changed since” tells what it changed later.'
    }
  >
    <Tag tone={final ? 'good' : 'warn'}>
      {final ? 'final' : `${isOneDay(period) ? '' : 'some days '}provisional then`}
    </Tag>
  </span>
);

const isOneDay = (period: Pin['period']): boolean => period !== null && period.from === period.to;
