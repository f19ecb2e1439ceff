/** Small parts that both pages are made of. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Refused, wordsOf } from './api.js';
import { span } from './format.js';
import type { Loaded } from './load.js';

export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'info';

export function Tag({
  tone = 'quiet',
  children,
}: {
  readonly tone?: Tone;
  readonly children: ComponentChildren;
}) {
  return <span class={`tag ${tone}`}>{children}</span>;
}

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

/** One number that matters, with what it is below it. */
export function Figure({ label, value, note, tone }: FigureProps) {
  return (
    <div class={`figure ${tone ?? ''}`}>
      <dt>{label}</dt>
      <dd>{value}</dd>
      {note === undefined ? null : <dd class="small quiet">{note}</dd>}
    </div>
  );
}

export function Figures({ children }: { readonly children: ComponentChildren }) {
  return <dl class="figures">{children}</dl>;
}

interface ChoiceProps<T extends string> {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly title: string }[];
  readonly value: T;
  readonly choose: (value: T) => void;
}

/** A few choices side by side, of which one is on. */
export function Choice<T extends string>({ label, options, value, choose }: ChoiceProps<T>) {
  return (
    <fieldset class="choice" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => choose(option.value)}
        >
          {option.title}
        </button>
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
  /** Said while it is on its way. */
  readonly looking?: string;
  readonly children: (value: T) => ComponentChildren;
}

/** What is loaded, or that it is on its way, or why it did not come. Old values stay beside the fault. */
export function Wait<T>({ of: { value, error, loading, reload }, looking, children }: WaitProps<T>) {
  if (loading) return <Looking>{looking}</Looking>;
  return (
    <>
      {error === null ? null : <Trouble error={error} again={reload} />}
      {value === null ? null : children(value)}
    </>
  );
}

/** @param children one sentence: what is not there, and how it comes to be */
export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty quiet">{children}</p>;
}

/** Foreign text in a line of ours: its direction stays its own. */
export function Name({ children }: { readonly children: string }) {
  return <bdi class="name">{children}</bdi>;
}

interface ScrollFrameProps {
  /** What is in it, for a screen reader. */
  readonly label: string;
  /** No higher than a chart. */
  readonly short?: boolean;
  readonly children: ComponentChildren;
}

/** A frame that scrolls what is wider or higher than it, and that a keyboard reaches. */
export function ScrollFrame({ label, short = false, children }: ScrollFrameProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the arrow keys would not scroll it
    <section class={short ? 'table-frame short' : 'table-frame'} aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}

// Why something did not come: in words, and with the seconds until it is worth asking again.

interface TroubleProps {
  readonly error: unknown;
  readonly again: () => void;
}

function Trouble({ error, again }: TroubleProps) {
  const left = useSecondsLeft(error);
  const title = error instanceof Refused ? error.problem.title : 'No response';
  return (
    <div class="note bad" role="alert">
      <strong>{title}.</strong> <bdi>{wordsOf(error)}</bdi>{' '}
      <button type="button" class="plain" disabled={left > 0} onClick={again}>
        {left > 0 ? `Try again in ${span(left)}` : 'Try again'}
      </button>
    </div>
  );
}

/** Counts `retry-after` down from when the refusal came. */
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
