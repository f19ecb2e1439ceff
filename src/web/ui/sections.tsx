/** The sections of a page, and which one the address names. */
import type { ComponentChildren } from 'preact';
import { useRoute } from './route.js';
import { type Section, Shell } from './shell.js';

export interface SectionView extends Section {
  /** @param path what follows the section's name in the address */
  readonly view: (path: readonly string[]) => ComponentChildren;
}

interface SectionsProps {
  /** `console`, `explorer` */
  readonly product: string;
  /** The first is shown where the address names none. */
  readonly sections: readonly SectionView[];
  /** Who is signed in: name, and what they may do in a word. */
  readonly who: { readonly name: string; readonly role: string };
  /** On every section, above it. */
  readonly children?: ComponentChildren;
}

const LINKS = [
  { href: '/docs', title: 'Documentation' },
  { href: '/docs/errors', title: 'Errors' },
];

export function Sections({ sections, children, ...shell }: SectionsProps) {
  const { path } = useRoute();
  const [name = '', ...rest] = path;
  const section = sections.find((one) => one.name === name) ?? sections[0];
  if (section === undefined) return null;
  return (
    <Shell {...shell} sections={sections} current={section.name} links={LINKS}>
      {children}
      {section.view(rest)}
    </Shell>
  );
}
