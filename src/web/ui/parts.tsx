/** Small parts that both pages are made of. */
import type { ComponentChildren } from 'preact';
import { wordsOf } from './api.js';
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

export const Looking = ({ children = 'One moment …' }: { readonly children?: string }) => (
  <p class="looking" role="status">
    {children}
  </p>
);

/** What is loaded, or that it is on its way, or why it did not come. Old values stay beside the fault. */
export function Wait<T>({
  of: loaded,
  children,
}: {
  readonly of: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}) {
  const { value, error, loading, reload } = loaded;
  if (loading) return <Looking />;
  return (
    <>
      {error === null ? null : (
        <p class="note bad" role="alert">
          {wordsOf(error)}{' '}
          <button type="button" class="plain" onClick={reload}>
            Try again
          </button>
        </p>
      )}
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
