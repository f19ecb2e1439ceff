/** The frame of every view: where one can go, who is signed in, whether the gateway answers. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useReach } from './load.js';
import { useNotices } from './notices.js';
import { hrefOf, useRoute } from './route.js';
import { useSigned } from './session.js';

export interface Section {
  readonly name: string;
  readonly title: string;
}

interface ShellProps {
  /** `console`, `explorer` */
  readonly product: string;
  readonly sections: readonly Section[];
  /** The section that is shown. */
  readonly current: string;
  /** Who is signed in: name, and what they may do in a word. */
  readonly who: { readonly name: string; readonly role: string };
  readonly links: readonly { readonly href: string; readonly title: string }[];
  readonly children: ComponentChildren;
}

export function Shell({ product, sections, current, who, links, children }: ShellProps) {
  const reached = useReach();
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={focusMain}>
        Skip to content
      </button>
      <header class="side">
        <div class="side-inner">
          <p class="brand">
            <span class="mark" aria-hidden="true" />
            <span>
              dsp-gateway <span class="product">{product}</span>
            </span>
          </p>
          <Sections sections={sections} current={current} />
          <Who {...who} />
          <div class="side-links small quiet">
            {links.map(({ href, title }) => (
              <a key={href} href={href}>
                {title}
              </a>
            ))}
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <p role="status" class={reached ? 'offline' : 'offline shown'}>
          {reached
            ? ''
            : 'The gateway does not answer. What is shown is the last that came; this page goes on asking.'}
        </p>
        {children}
      </main>
    </div>
  );
}

function Sections({ sections, current }: Pick<ShellProps, 'sections' | 'current'>) {
  const nav = useRef<HTMLElement>(null);
  // On a phone they stand in a line that scrolls.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current]);
  return (
    <nav ref={nav} aria-label="Sections">
      {sections.map(({ name, title }) => (
        <a key={name} href={hrefOf([name])} aria-current={name === current ? 'page' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}

function focusMain(): void {
  document.getElementById('main')?.focus();
}

function Who({ name, role }: ShellProps['who']) {
  const { signOut } = useSigned();
  const { fault } = useNotices();
  return (
    <div class="who">
      <span>
        <bdi>{name}</bdi> <span class="tag">{role}</span>
      </span>
      <button type="button" class="plain" onClick={() => void signOut().catch(fault)}>
        Sign out
      </button>
    </div>
  );
}

interface ViewProps {
  readonly title: string;
  /** A line below the title. */
  readonly lead?: ComponentChildren;
  /** Right of the title: ranges, buttons. */
  readonly tools?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** One view with its heading, which has the focus when somebody came here by a link. */
export function View({ title, lead, tools, children }: ViewProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { path } = useRoute();
  const place = path.join('/');
  const { clear } = useNotices();
  // Another place means another heading, even of the same words.
  useEffect(() => {
    document.title = `${title} · dsp-gateway`;
    heading.current?.focus({ preventScroll: false });
    return clear;
  }, [place, title, clear]);
  return (
    <article class="view">
      <div class="view-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead === undefined ? null : <p class="lead">{lead}</p>}
        </div>
        {tools === undefined ? null : <div class="tools">{tools}</div>}
      </div>
      {children}
    </article>
  );
}
