/** The form of a query. */
import type { TargetedInputEvent } from 'preact';
import { useState } from 'preact/hooks';
import { Field, Fields } from '../ui/fields.js';
import type { FieldSpec } from '../ui/form-values.js';
import { NARROW, useMedia } from '../ui/media.js';
import { Button } from '../ui/parts.js';
import { type Advertiser, CHOSEN, idIn, labelOf } from './advertiser-names.js';
import { titleOf } from './columns.js';
import { dates } from './dates.js';
import { DayInput } from './day-input.js';
import { type Endpoint, endpointTitle } from './endpoints.js';
import { MoreAdvertisers } from './more-advertisers.js';
import { NotAsked } from './not-asked.js';
import { splitWords } from './pinned.js';
import {
  faultOf,
  ofItsDays,
  PERIODS,
  type Period,
  periodThen,
  type Question,
  thenWords,
} from './question.js';
import { periodWords } from './spans.js';

interface FormProps extends Draft {
  /** What is shown. */
  readonly question: Question;
  readonly endpoints: readonly Endpoint[];
  readonly advertisers: readonly Advertiser[];
  /** The days of the last report; null: unknown. */
  readonly daysNow: () => Period | null;
  /** Whether a phone shows one line in its place, which opens it. */
  readonly folds: boolean;
}

export interface Draft {
  /** What the form has. */
  readonly draft: Question;
  /** Whether that cannot be asked. */
  readonly isRefused: boolean;
  readonly choose: (part: Partial<Question>) => void;
}

/** Each choice is asked at once, unless the whole cannot be: then it waits for another choice, or for another address. */
export function useDraft(question: Question, ask: (question: Question) => void): Draft {
  const place = JSON.stringify(question);
  const [chosen, setChosen] = useState({ of: place, draft: question });
  const draft = chosen.of === place ? chosen.draft : question;
  return {
    draft,
    isRefused: faultOf(draft) !== null && JSON.stringify(draft) !== place,
    choose: (part) => {
      const next = { ...draft, ...part };
      setChosen({ of: place, draft: next });
      if (faultOf(next) === null && JSON.stringify(next) !== place) ask(next);
    },
  };
}

export function ReportForm(props: FormProps) {
  const { draft, isRefused, choose, question, endpoints, advertisers, daysNow, folds } = props;
  const isFolding = useMedia(NARROW) && folds;
  const [isOpen, setIsOpen] = useState(false);
  const endpoint = endpoints.find(({ name }) => name === draft.endpoint);
  return (
    <form class="card report-form" aria-label="Report" onSubmit={(event) => event.preventDefault()}>
      {isFolding ? (
        <div class="asked">
          <bdi>{askedWords(question, advertisers)}</bdi>
          <Button label={isOpen ? 'Done' : 'Change'} aria-expanded={isOpen} act={() => setIsOpen(!isOpen)} />
        </div>
      ) : null}
      {isFolding && !isOpen ? null : (
        <div class="form-grid">
          <Fields fields={[reportField(draft, endpoints)]} values={{ ...draft }} set={choose} />
          <AdvertiserField
            id={draft.advertiserId}
            advertisers={advertisers}
            set={(advertiserId) => choose({ advertiserId })}
          />
          <PeriodFields {...{ draft, choose, daysNow }} />
          <Fields fields={endpoint?.hasCurrency ? [CURRENCY] : []} values={{ ...draft }} set={choose} />
          <details open={question.others.length > 0}>
            <summary>Several advertisers together</summary>
            <MoreAdvertisers
              chosen={draft.others}
              choose={(others) => choose({ others })}
              lead={draft.advertiserId}
              advertisers={advertisers}
            />
          </details>
          <Splits draft={draft} change={choose} names={endpoint?.splits ?? draft.splits} />
          <EarlierFields asOf={draft.asOf} set={(asOf) => choose({ asOf })} />
        </div>
      )}
      {isRefused ? (
        <NotAsked
          question={draft}
          advertisers={advertisers}
          choose={(advertiserId) => choose({ advertiserId })}
        />
      ) : null}
    </form>
  );
}

/** `Campaigns · Acme · Last 30 days · by date` */
function askedWords(question: Question, advertisers: readonly Advertiser[]): string {
  const { endpoint, advertiserId: id, others, splits, asOf } = question;
  const { period, dateFrom: from, dateTo: to } = ofItsDays(question);
  const name = advertisers.find((one) => String(one.id) === id)?.name ?? `advertiser ${id}`;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const days = PERIODS.find(([value]) => value === period)?.[1] ?? (period || periodWords({ from, to }));
  const split = splitWords(splits.map((one) => one.replace(/^by/, '')));
  const then = asOf === '' ? [] : [`as they were on ${thenWords(asOf)}`];
  return [endpointTitle(endpoint), `${name}${more}`, days, split, ...then].join(' · ');
}

interface AdvertiserProps {
  readonly id: string;
  readonly advertisers: readonly Advertiser[];
  readonly set: (id: string) => void;
}

/**
 * Shows the name. It is empty while it has the focus, as a browser offers only what begins with the text. What is typed is
 * taken by the Enter key or when the field is left.
 */
function AdvertiserField({ id, advertisers, set }: AdvertiserProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const known = advertisers.find((one) => String(one.id) === id);
  const name = known === undefined ? id : labelOf(known, advertisers);
  const help = known === undefined || name === id ? 'A name from the list, or an id.' : `Id ${id}`;
  const take = (text: string | null) => {
    if (text !== null && text.trim() !== '') set(idIn(text, advertisers));
  };
  return (
    <Field label="Advertiser" help={help}>
      <input
        list="advertisers"
        autocomplete="off"
        spellcheck={false}
        value={typed ?? name}
        placeholder={name}
        onFocus={() => setTyped('')}
        onBlur={() => {
          take(typed);
          setTyped(null);
        }}
        onKeyDown={({ key }) => {
          if (key === 'Enter') take(typed);
        }}
        onInput={({ currentTarget: { value }, inputType = CHOSEN }: TargetedInputEvent<HTMLInputElement>) => {
          setTyped(value);
          if (inputType === CHOSEN) take(value);
        }}
      />
      <datalist id="advertisers">
        {advertisers.map((one) => (
          <option key={one.id} value={labelOf(one, advertisers)}>
            {one.id}
          </option>
        ))}
      </datalist>
    </Field>
  );
}

const CURRENCY: FieldSpec = {
  name: 'spentBased',
  label: 'Currency',
  options: [
    ['', "Platform's default"],
    ['usd', 'US dollars'],
    ['local', "Advertiser's currency"],
  ],
};

interface EarlierProps {
  readonly asOf: string;
  readonly set: (asOf: string) => void;
}

/** A day and its time in one value, as the gateway takes it. */
function EarlierFields({ asOf, set }: EarlierProps) {
  const [day = '', time = ''] = asOf.split('T');
  const minute = time.slice(0, 5);
  const setBoth = (day: string, time: string) => set(time === '' ? day : `${day}T${time}`);
  return (
    <>
      <Field label="As they were on" help="Empty: the numbers of now.">
        <DayInput is="date" value={day} set={(day) => setBoth(day, minute)} />
      </Field>
      <Field label="At a time (UTC)" help="Empty: the end of that day.">
        <DayInput is="time" value={minute} set={(time) => setBoth(day, time)} />
      </Field>
    </>
  );
}

/** Unknown values from the address stay selectable. */
function reportField({ endpoint }: Question, endpoints: readonly Endpoint[]): FieldSpec {
  const known = endpoints.map(({ name }) => name);
  const names = known.includes(endpoint) ? known : [endpoint, ...known];
  const titles = names.map(endpointTitle);
  const isAlone = (title: string) => titles.filter((other) => other === title).length === 1;
  return {
    name: 'endpoint',
    label: 'Report',
    options: names.map((name, index) => {
      const title = titles[index] ?? name;
      return [name, isAlone(title) ? title : `${title} · ${name}`] as const;
    }),
    help: endpoint,
  };
}

/** Days of one's own begin with those that are shown. */
function PeriodFields({ draft, choose, daysNow }: Pick<FormProps, 'draft' | 'choose' | 'daysNow'>) {
  const { period, dateFrom, dateTo } = draft;
  return (
    <>
      <Fields
        fields={[periodField(draft)]}
        values={{ period }}
        set={({ period }) => {
          const days = period === '' ? daysNow() : null;
          choose({ period: String(period), dateFrom: days?.from ?? '', dateTo: days?.to ?? '' });
        }}
      />
      {period === '' ? (
        <>
          <Field label="First day">
            <DayInput is="date" value={dateFrom} set={(dateFrom) => choose({ dateFrom })} />
          </Field>
          <Field label="Last day">
            <DayInput is="date" value={dateTo} set={(dateTo) => choose({ dateTo })} />
          </Field>
        </>
      ) : null}
    </>
  );
}

function periodField(draft: Question): FieldSpec {
  const { period } = draft;
  const then = periodThen(draft);
  const isUnusual = period !== '' && !PERIODS.some(([value]) => value === period);
  return {
    name: 'period',
    label: 'Period',
    options: [...PERIODS, ...(isUnusual ? [period] : []), ['', 'Custom …']],
    ...(then === null ? {} : { help: `As on ${dates.full(draft.asOf)}: ${periodWords(then)}.` }),
  };
}

interface SplitsProps {
  readonly draft: Question;
  readonly change: (part: Partial<Question>) => void;
  readonly names: readonly string[];
}

const Splits = ({ draft: { splits }, change, names }: SplitsProps) => (
  <fieldset class="checks">
    <legend>One row per</legend>
    {names.map((name) => (
      <label key={name}>
        <input
          type="checkbox"
          checked={splits.includes(name)}
          onChange={({ currentTarget: { checked } }) =>
            change({ splits: [...splits.filter((other) => other !== name), ...(checked ? [name] : [])] })
          }
        />
        {titleOf(name.replace(/^by/, ''))}
      </label>
    ))}
  </fieldset>
);
