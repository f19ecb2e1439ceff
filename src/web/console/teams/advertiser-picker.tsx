/** Picks advertisers by name or id; all of them only explicitly. */
import { useRef, useState } from 'preact/hooks';
import { Box, Offers } from '../../ui/fields.js';
import { Button, Name } from '../../ui/parts.js';
import { type AdvertiserNames, useAdvertisers } from './advertisers.js';
import type { Draft } from './draft.js';

interface PickerProps {
  readonly draft: Pick<Draft, 'all' | 'advertisers'>;
  readonly change: (part: Partial<Pick<Draft, 'all' | 'advertisers'>>) => void;
  readonly fault: string | undefined;
}

export function AdvertiserPicker({ draft: { all, advertisers }, change, fault }: PickerProps) {
  const known = useAdvertisers();
  return (
    <fieldset class="boxes" aria-label="Advertisers">
      <Box
        group="advertisers"
        title="Selected advertisers"
        says="By name or id."
        checked={!all}
        choose={() => change({ all: false })}
      />
      {all ? null : (
        <div class={fault === undefined ? 'picked' : 'picked wrong'}>
          <Search
            known={known}
            chosen={advertisers}
            add={(id) => change({ advertisers: [...advertisers, id] })}
          />
          {advertisers.length === 0 ? (
            <p class="small quiet">None selected: the team sees no data.</p>
          ) : (
            <Chips
              ids={advertisers}
              known={known}
              remove={(id) => change({ advertisers: advertisers.filter((one) => one !== id) })}
            />
          )}
          {fault === undefined ? null : <p class="fault">{fault}</p>}
        </div>
      )}
      <Box
        group="advertisers"
        title="All advertisers"
        says="Including future ones."
        checked={all}
        choose={() => change({ all: true })}
      />
      {all ? (
        <p class="note warn">
          The team sees the data of every advertiser of the platform's credential, and data without an
          advertiser. Use this only for teams of your own organisation.
        </p>
      ) : null}
    </fieldset>
  );
}

interface ChipsProps {
  readonly ids: readonly number[];
  readonly known: AdvertiserNames;
  /** Absent: read-only. */
  readonly remove?: (id: number) => void;
}

export const Chips = ({ ids, known, remove }: ChipsProps) => (
  <ul class="chips" aria-label="Selected advertisers">
    {ids.map((id) => {
      const name = known.nameOf(id);
      return (
        <li key={id} class="tag quiet">
          {name === null ? null : <Name>{name}</Name>} <span class="quiet">{id}</span>
          {remove === undefined ? null : (
            <Button label="×" class="plain" aria-label={`Remove ${name ?? id}`} act={() => remove(id)} />
          )}
        </li>
      );
    })}
  </ul>
);

interface SearchProps {
  readonly known: AdvertiserNames;
  readonly chosen: readonly number[];
  readonly add: (id: number) => void;
}

/** A suggestion is added when selected, typed text by Enter. */
function Search({ known, chosen, add }: SearchProps) {
  const [said, setSaid] = useState('');
  const input = useRef<HTMLInputElement>(null);
  const take = (found: number | string) => {
    setSaid(typeof found === 'string' ? found : '');
    if (typeof found === 'string' || input.current === null) return;
    if (!chosen.includes(found)) add(found);
    input.current.value = '';
  };
  return (
    <div class="search stack">
      <div class="row">
        <input
          ref={input}
          list="known-advertisers"
          aria-label="Add an advertiser by name or id"
          placeholder="Name or id"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => {
            setSaid('');
            const { value } = event.currentTarget;
            if (isTaken(event) && known.all.some(({ id }) => String(id) === value)) take(Number(value));
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            // Enter would submit the form.
            event.preventDefault();
            take(idOf(event.currentTarget.value, known));
          }}
        />
        <Button label="Add" act={() => take(idOf(input.current?.value ?? '', known))} />
      </div>
      <Offers list="known-advertisers" offers={known.all} />
      <p class="small quiet" role="status">
        {said}
      </p>
    </div>
  );
}

/** Whether a suggestion was selected, not text typed. */
const isTaken = (event: Event): boolean =>
  !(event instanceof InputEvent) || event.inputType === 'insertReplacementText';

/** @returns the id, or why there is none */
function idOf(typed: string, known: AdvertiserNames): number | string {
  const text = typed.trim().toLowerCase();
  if (/^[1-9]\d{0,15}$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text);
  const named = known.all.filter(({ name }) => name?.toLowerCase().includes(text) === true);
  const exact = named.filter(({ name }) => name?.toLowerCase() === text);
  const [found, another] = exact.length > 0 ? exact : named;
  if (text !== '' && found !== undefined && another === undefined) return found.id;
  return text === '' || found !== undefined
    ? 'Select one from the list, or type its id.'
    : 'No advertiser with this name has been seen. Add it by its id.';
}
