/** In place of the report of an advertiser that the team may not see: those it may, each as a link to the same report. */
import { useState } from 'preact/hooks';
import { Refused } from '../ui/api.js';
import { Field } from '../ui/fields.js';
import { Name, Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import type { Advertisers } from './advertiser-names.js';
import { numbers } from './numbers.js';
import { ofOne, reportHref, type Viewed } from './question.js';
import { SEEN, useTeam } from './team.js';

/** More have a filter. */
const MOST_LINKS = 12;

/** @returns whether the gateway refused the advertiser itself, not a parameter that could name another */
export function useIsForbidden(): (error: unknown, advertiserId: string) => boolean {
  const { advertisers } = useTeam().session;
  return (error, advertiserId) =>
    error instanceof Refused &&
    error.problem.code === 'advertiser_forbidden' &&
    advertisers !== '*' &&
    !advertisers.map(String).includes(advertiserId);
}

export function Forbidden({ question, view }: Pick<Viewed, 'question' | 'view'>) {
  const seen = useGet<Advertisers>(SEEN);
  const [sought, setSought] = useState('');
  return (
    <section class="note warn stack" aria-label="Advertisers that your team may see">
      <p role="alert">
        <strong>Your team may not see advertiser {question.advertiserId}.</strong> It may see:
      </p>
      <Wait of={seen}>
        {({ advertisers }) => {
          const found = advertisers.filter(({ id, name }) =>
            `${name ?? ''} ${id}`.toLowerCase().includes(sought.trim().toLowerCase()),
          );
          return (
            <>
              {advertisers.length > MOST_LINKS ? (
                <Field label="Find a name or id">
                  <input type="search" onInput={({ currentTarget }) => setSought(currentTarget.value)} />
                </Field>
              ) : null}
              <ul class="row">
                {found.slice(0, MOST_LINKS).map(({ id, name }) => (
                  <li key={id}>
                    <a class="button" href={reportHref(ofOne(question, String(id)), view)}>
                      <Name>{name ?? `Advertiser ${id}`}</Name> <span class="small quiet">{id}</span>
                    </a>
                  </li>
                ))}
              </ul>
              {found.length > MOST_LINKS ? (
                <p class="small">
                  and {numbers.whole(found.length - MOST_LINKS)} more: find one by its name or id.
                </p>
              ) : null}
              {found.length === 0 ? <p>No advertiser has this name or id.</p> : null}
            </>
          );
        }}
      </Wait>
    </section>
  );
}
