/** Stopping writes, and what nobody knows the outcome of. */
import { Wait } from '../../ui/parts.js';
import { useGet } from '../../ui/session.js';
import { View } from '../../ui/shell.js';
import { StopCard } from './stop-card.js';
import { type UnknownAnswer, UnknownCard } from './unknown-card.js';

const LIVE_MS = 10_000;

interface WritesProps {
  readonly changed: () => void;
}

export function Writes({ changed }: WritesProps) {
  const unknown = useGet<UnknownAnswer>('/admin/v1/writes/unknown', LIVE_MS);
  return (
    <View
      title="Writes"
      lead="What is written to the platform: stop it when something looks wrong, and say what became of writes whose answer was lost."
    >
      <StopCard changed={changed} />
      <Wait of={unknown}>{({ writes }) => <UnknownCard writes={writes} settled={unknown.reload} />}</Wait>
    </View>
  );
}
