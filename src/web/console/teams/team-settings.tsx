/** The settings of a team, in the order of its form. */
import { useState } from 'preact/hooks';
import { count } from '../../ui/format.js';
import { Button, Card, Facts, Tag } from '../../ui/parts.js';
import { ScopeList } from '../../ui/scopes.js';
import { Chips } from './advertiser-picker.js';
import { useAdvertisers } from './advertisers.js';
import { LIMITS, type Team } from './team.js';

export const SettingsCard = ({ team }: { readonly team: Team }) => (
  <Card title="Settings">
    <Facts
      of={[
        ['Advertisers', <Advertisers team={team} />],
        ['Scopes', <Scopes team={team} />],
        ['Limits', <Limits team={team} />],
        ['Allowed addresses', team.ipAllow.join(', ') || 'any address'],
        ['Default format', team.defaultFormat],
      ]}
    />
  </Card>
);

const Limits = ({ team: { limits } }: { readonly team: Team }) => (
  <ul class="plain-list">
    {LIMITS.map(({ name, title, unit }) => (
      <li key={name}>
        {title}: <strong>{count(limits[name])}</strong> {unit}
      </li>
    ))}
  </ul>
);

function Scopes({ team: { scopes } }: { readonly team: Team }) {
  if (scopes.length === 0) return <>none: the team cannot do anything</>;
  return <ScopeList scopes={scopes} />;
}

const MOST_SHOWN = 20;

function Advertisers({ team: { advertisers } }: { readonly team: Team }) {
  const known = useAdvertisers();
  const [all, setAll] = useState(false);
  if (advertisers === '*')
    return (
      <>
        <Tag tone="warn">all</Tag> <span class="quiet">including future ones</span>
      </>
    );
  if (advertisers.length === 0) return <>none: the team sees no data</>;
  return (
    <>
      <Chips ids={all ? advertisers : advertisers.slice(0, MOST_SHOWN)} known={known} />
      {advertisers.length > MOST_SHOWN && !all ? (
        <Button label={`Show all ${count(advertisers.length)}`} class="plain" act={() => setAll(true)} />
      ) : null}
    </>
  );
}
