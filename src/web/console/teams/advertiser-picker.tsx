/** Picks advertisers by name or id, as chips; all of them only by saying so. */
import { useRef, useState } from 'preact/hooks';
import { Name } from '../../ui/parts.js';
import { type AdvertiserNames, useAdvertisers } from './advertisers.js';
import type { Draft } from './draft.js';
import type { Advertiser } from './team.js';

interface PickerProps {
  readonly draft: Pick<Draft, 'all' | 'advertisers'>;
  readonly change: (part: Partial<Draft>) => void;
  readonly fault: string | undefined;
}

export function AdvertiserPicker({ draft: { all, advertisers }, change, fault }: PickerProps) {
  const known = useAdvertisers();
  return (
    <fieldset class="boxes" aria-label="Advertisers">
      <label>
        <input type="radio" name="advertisers" checked={!all} onChange={() => change({ all: false })} />
        <span>
          <strong>Those chosen here</strong>
        </span>
      </label>
      {all ? null : (
        <div class={fault === undefined ? 'picked' : 'picked wrong'}>
          <Search
            known={known}
            chosen={advertisers}
            add={(id) => change({ advertisers: [...advertisers, id] })}
          />
          <Chips
            ids={advertisers}
            known={known}
            remove={(id) => change({ advertisers: advertisers.filter((one) => one !== id) })}
          />
          {fault === undefined ? null : <p class="fault">{fault}</p>}
        </div>
      )}
      <label>
        <input type="radio" name="advertisers" checked={all} onChange={() => change({ all: true })} />
        <span>
          <strong>All advertisers</strong>
          <span class="small quiet">Those that come later, too.</span>
        </span>
      </label>
      {all ? (
        <p class="note warn">
          The team sees the numbers of every advertiser that the platform's credential reaches, and whatever
          is not bound to one. Choose this for teams of your own house alone.
        </p>
      ) : null}
    </fieldset>
  );
}

interface ChipsProps {
  readonly ids: readonly number[];
  readonly known: AdvertiserNames;
  readonly remove: (id: number) => void;
}

function Chips({ ids, known, remove }: ChipsProps) {
  if (ids.length === 0) return <p class="small quiet">None is chosen: the team sees no numbers.</p>;
  return (
    <ul class="chips" aria-label="Chosen advertisers">
      {ids.map((id) => {
        const name = known.nameOf(id);
        return (
          <li key={id} class="chip">
            {name === null ? null : <Name>{name}</Name>} <span class="quiet">{id}</span>
            <button
              type="button"
              class="plain"
              aria-label={`Remove ${name ?? id}`}
              onClick={() => remove(id)}
            >
              ×
            </button>
          </li>
        );
      })}
    </ul>
  );
}

interface SearchProps {
  readonly known: AdvertiserNames;
  readonly chosen: readonly number[];
  readonly add: (id: number) => void;
}

function Search({ known, chosen, add }: SearchProps) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const offers = text.trim() === '' ? [] : offersOf(text.trim(), known, chosen);
  const take = (offer: Advertiser | undefined) => {
    if (offer === undefined) return;
    add(offer.id);
    setText('');
    setAt(0);
    input.current?.focus();
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === 'Enter') take(offers[at]);
    else if (event.key === 'ArrowDown') setAt(Math.min(at + 1, offers.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (event.key === 'Escape') setText('');
    else return;
    // Enter would send the form.
    event.preventDefault();
  };
  return (
    <div class="search">
      <input
        ref={input}
        role="combobox"
        aria-label="Add an advertiser by name or id"
        placeholder="Name or id"
        aria-expanded={offers.length > 0}
        aria-controls="advertiser-offers"
        aria-autocomplete="list"
        aria-activedescendant={offers[at] === undefined ? undefined : `offer-${offers[at].id}`}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget: { value } }) => {
          setText(value);
          setAt(0);
        }}
        onKeyDown={keys}
      />
      <div id="advertiser-offers" role="listbox" aria-label="Advertisers" hidden={offers.length === 0}>
        {offers.map(({ id, name }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field, which keeps the focus
          <div
            key={id}
            id={`offer-${id}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => take({ id, name })}
          >
            {name === null ? <span class="quiet">not seen yet</span> : <Name>{name}</Name>}{' '}
            <span class="quiet">{id}</span>
          </div>
        ))}
      </div>
      {text.trim() !== '' && offers.length === 0 ? (
        <p class="small quiet" role="status">
          Nobody of this name was seen. An advertiser that the gateway has not seen is added by its id.
        </p>
      ) : null}
    </div>
  );
}

/** As many as one looks through. */
const MOST_OFFERS = 8;

/** Those known by name or by how their id begins; an id that nobody has seen is offered as it is typed. */
function offersOf(text: string, known: AdvertiserNames, chosen: readonly number[]): Advertiser[] {
  const wanted = text.toLowerCase();
  const found = known.all.filter(
    ({ id, name }) => String(id).startsWith(wanted) || name?.toLowerCase().includes(wanted) === true,
  );
  const typed = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : null;
  const isNew = typed !== null && Number.isSafeInteger(typed) && !found.some(({ id }) => id === typed);
  return [...found, ...(isNew ? [{ id: typed, name: null }] : [])]
    .filter(({ id }) => !chosen.includes(id))
    .slice(0, MOST_OFFERS);
}
