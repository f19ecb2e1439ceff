/** Small components of both pages. */
import { type ButtonHTMLAttributes, type ComponentChildren, createContext, Fragment } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { Refused, Unreachable, wordsOf, wordsWithId } from './api.js';
import { span } from './format.js';
import type { Loaded } from './load.js';

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'info';

type Inner = Readonly<{ children: ComponentChildren }>;

export const Tag = ({ tone = 'quiet', children }: Inner & { readonly tone?: Tone }) => (
  <span class={`tag ${tone}`}>{children}</span>
);

interface CardProps {
  readonly title?: string;
  readonly tools?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}

export function Card({ title, tools, class: more = '', children }: CardProps) {
  return (
    <section class={`card ${more}`} aria-label={title}>
      {title === undefined ? null : (
        <div class="card-head">
          <h2>{title}</h2>
          {tools === undefined ? null : <div class="tools">{tools}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

interface FigureProps {
  readonly label: string;
  readonly value: string;
  readonly note?: ComponentChildren;
  readonly tone?: Tone;
}

export function Figure({ label, value, note, tone }: FigureProps) {
  return (
    <div class={`figure ${tone ?? ''}`}>
      <dt>{label}</dt>
      <dd>{value}</dd>
      {note === undefined ? null : <dd class="small quiet">{note}</dd>}
    </div>
  );
}

export const Figures = ({ children }: Inner) => <dl class="figures">{children}</dl>;

export type Fact = readonly [term: ComponentChildren, fact: ComponentChildren];

export const Facts = ({ of }: { readonly of: readonly Fact[] }) => (
  <dl class="facts">
    {of.map(([term, fact], index) => (
      <Fragment key={index}>
        <dt>{term}</dt>
        <dd>{fact}</dd>
      </Fragment>
    ))}
  </dl>
);

export interface Bar {
  readonly key: string;
  readonly title: ComponentChildren;
  /** The value in words. */
  readonly says: ComponentChildren;
  /** The filled part, 0 to 1. */
  readonly share: number;
  readonly tone?: Tone | undefined;
}

/** The filled part of a line, 0 to 1. */
export const Track = ({ share, tone = '' }: { readonly share: number; readonly tone?: Tone | '' }) => (
  <span class={`time-line ${tone}`} aria-hidden="true">
    <span style={{ width: `${100 * Math.min(1, Math.max(0, share))}%` }} />
  </span>
);

/** Of a limit: from 80 % on it warns. */
export const toneOf = (share: number): Tone => (share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'good');

interface BarsProps {
  readonly title: string;
  readonly tools?: ComponentChildren;
  readonly bars: readonly Bar[];
  /** In place of no bars. */
  readonly empty: string;
}

/** Values side by side, in words and as bars. */
export const Bars = ({ title, tools, bars, empty }: BarsProps) => (
  <Card title={title} tools={tools}>
    {bars.length === 0 ? <Empty>{empty}</Empty> : null}
    <ul class="bars" aria-label={title}>
      {bars.map(({ key, title: one, says, share, tone = 'info' }) => (
        <li key={key} class={tone}>
          <span>{one}</span>
          <span class="small quiet">{says}</span>
          <Track share={share} />
        </li>
      ))}
    </ul>
  </Card>
);

interface SparkProps {
  /** For screen readers: what the line says. */
  readonly label: string;
  readonly values: readonly number[];
}

/** A line without axes, for a cell of a table. */
export function Spark({ label, values }: SparkProps) {
  const most = Math.max(1, ...values);
  const points = values.map((value, index) => `${index},${most - value}`).join(' ');
  return (
    <svg
      class="spark"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${Math.max(1, values.length - 1)} ${most}`}
      preserveAspectRatio="none"
    >
      <polyline points={points} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

interface ButtonProps extends Omit<ButtonHTMLAttributes, 'label'> {
  readonly label: ComponentChildren;
  /** Absent: the button submits its form. */
  readonly act?: (() => unknown) | undefined;
}

export const Button = ({ label, act, ...rest }: ButtonProps) => (
  <button type={act === undefined ? 'submit' : 'button'} onClick={act} {...rest}>
    {label}
  </button>
);

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly title: string }[];
  readonly value: T;
  readonly choose: (value: T) => void;
}

/** Buttons side by side, one of which is on. */
export function Choice<T extends string>({ label, options, value, choose }: ChoiceProps<T>) {
  return (
    <fieldset class="choice" aria-label={label}>
      {options.map(({ value: one, title }) => (
        <Button key={one} label={title} aria-pressed={one === value} act={() => choose(one)} />
      ))}
    </fieldset>
  );
}

export const Looking = ({ children = 'Loading …' }: { readonly children?: string | undefined }) => (
  <p class="looking" role="status">
    {children}
  </p>
);

interface WaitProps<T> {
  readonly of: Loaded<T>;
  /** Text while loading. */
  readonly looking?: string;
  /** @param staleSince when the value was loaded, if a later reload failed */
  readonly children: (value: T, staleSince: Date | null) => ComponentChildren;
}

/** The words of errors that are shown above. */
const Told = createContext<ReadonlySet<string>>(new Set());

/** Shows a loaded value, that it is loading, or the error; after an error with the old value. */
export function Wait<T>({ of, looking, children }: WaitProps<T>) {
  const { value, error, staleSince, loading, reload } = of;
  const isTold = useContext(Told).has(error === null ? '' : wordsOf(error));
  if (loading) return <Looking>{looking}</Looking>;
  return (
    <>
      {error === null || isTold ? null : <Trouble error={error} again={reload} />}
      {value !== null ? children(value, staleSince) : isTold ? <Empty>Not loaded, see above.</Empty> : null}
    </>
  );
}

/** Shows each error of several loads once, above what they load. The frame says if the gateway does not respond. */
export function Together({ of, children }: Inner & { readonly of: readonly Loaded<unknown>[] }) {
  const failed = of.filter(({ error }) => error !== null);
  const errors = new Map(failed.map(({ error }) => [wordsOf(error), error]));
  const again = () => {
    for (const { reload } of failed) reload();
  };
  return (
    <Told.Provider value={new Set(errors.keys())}>
      {[...errors].map(([words, error]) =>
        error instanceof Unreachable ? null : <Trouble key={words} error={error} again={again} />,
      )}
      {children}
    </Told.Provider>
  );
}

/** In place of missing data: what is missing, and how to get it. */
export const Empty = ({ children }: Inner) => <p class="empty quiet">{children}</p>;

/** Text of others, which keeps its own direction. */
export const Name = ({ children }: { readonly children: string }) => <bdi class="name">{children}</bdi>;

/** An error, with a button to retry after `retry-after`. */
function Trouble(failed: AgainProps) {
  const { error } = failed;
  const title = error instanceof Refused ? error.problem.title : 'No response';
  return (
    <div class="note bad" role="alert">
      <strong>{title}.</strong> <bdi>{wordsWithId(error)}</bdi> <TryAgain {...failed} class="plain" />
    </div>
  );
}

interface AgainProps {
  readonly error: unknown;
  readonly again: () => void;
}

/** Waits for `retry-after`, and says how long. */
export function TryAgain({ error, again, ...rest }: AgainProps & { readonly class?: string }) {
  const left = useSecondsLeft(error);
  const label = left > 0 ? `Try again in ${span(left)}` : 'Try again';
  return <Button {...rest} label={label} disabled={left > 0} act={again} />;
}

/** Counts `retry-after` down. */
function useSecondsLeft(error: unknown): number {
  const wait = error instanceof Refused ? (error.retryAfter ?? 0) : 0;
  const [left, setLeft] = useState(wait);
  useEffect(() => {
    setLeft(wait);
    const end = performance.now() + wait * 1000;
    if (wait <= 0) return;
    const timer = setInterval(() => {
      const rest = Math.max(0, Math.ceil((end - performance.now()) / 1000));
      setLeft(rest);
      if (rest === 0) clearInterval(timer);
    }, 1000);
    return () => clearInterval(timer);
  }, [error, wait]);
  return left;
}
