/** The frame of every view: navigation, the signed-in user, and whether the gateway responds. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useReach } from './load.js';
import { useNotices } from './notices.js';
import { Button } from './parts.js';
import { hrefOf, useRoute } from './route.js';
import { useSigned } from './session.js';

export interface SectionView {
  readonly name: string;
  readonly title: string;
  /** @param path after the section's name */
  readonly view: (path: readonly string[]) => ComponentChildren;
}

interface ShellProps {
  /** `console`, `explorer` */
  readonly product: string;
  /** The first is the default. */
  readonly sections: readonly SectionView[];
  readonly who: {
    readonly name: string;
    /** Absent: none to show. */
    readonly role?: string;
    /** Below the name. */
    readonly more?: ComponentChildren;
  };
  /** Above every section. */
  readonly children?: ComponentChildren;
}

export function Shell({ product, sections, who, children }: ShellProps) {
  const reached = useReach();
  const [name = '', ...rest] = useRoute().path;
  const only = sections.length === 1 || name === '' ? sections[0] : undefined;
  const section = sections.find((one) => one.name === name) ?? only;
  return (
    <div class="shell">
      <Button label="Skip to content" class="skip" act={() => document.getElementById('main')?.focus()} />
      <header class="side">
        <div class="side-inner">
          <p class="brand">
            <span class="mark" aria-hidden="true" />
            <span>
              dsp-gateway <span class="product">{product}</span>
            </span>
          </p>
          <nav aria-label="Sections">
            {sections.map((one) => (
              <a key={one.name} href={hrefOf([one.name])} aria-current={one === section ? 'page' : undefined}>
                {one.title}
              </a>
            ))}
          </nav>
          <Who {...who} />
          <div class="side-links small quiet">
            <a href={product === 'explorer' ? '/docs/explorer' : '/docs'}>Documentation</a>
            <a href="/docs/errors">Error codes</a>
          </div>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <p role="status" class="offline bad">
          {reached ? '' : 'The gateway does not respond. This page shows the last data, and keeps retrying.'}
        </p>
        {children}
        {section === undefined ? <NoPage name={name} sections={sections} /> : section.view(rest)}
      </main>
    </div>
  );
}

function NoPage({ name, sections }: Pick<ShellProps, 'sections'> & { readonly name: string }) {
  return (
    <View title="No such page" lead={<>There is no page “{name}”. These are the pages:</>}>
      <ul>
        {sections.map((one) => (
          <li key={one.name}>
            <a href={hrefOf([one.name])}>{one.title}</a>
          </li>
        ))}
      </ul>
    </View>
  );
}

function Who({ name, role, more }: ShellProps['who']) {
  const { signOut } = useSigned();
  const { fault } = useNotices();
  return (
    <div class="who">
      <span>
        <bdi>{name}</bdi> {role === undefined ? null : <span class="tag quiet">{role}</span>}
      </span>
      {more}
      <Button label="Sign out" class="plain" act={() => signOut().catch(fault)} />
    </div>
  );
}

interface ViewProps {
  readonly title: string;
  /** A line below the title. */
  readonly lead?: ComponentChildren;
  /** Right of the title. */
  readonly tools?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A view; its heading gets the focus after navigation. */
export function View({ title, lead, tools, children }: ViewProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { path } = useRoute();
  const place = path.join('/');
  const { clear } = useNotices();
  // `place`: another view may have the same title.
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
