/** The platform's credential: lifetime, rotation and history. */
import { Wait } from '../ui/parts.js';
import { useGet } from '../ui/session.js';
import { View } from '../ui/shell.js';
import type { AuditEntry } from './audit-sentence.js';
import { Rotation } from './rotation.js';
import type { Holder, Tokens } from './token-types.js';
import { TokenLine, Tries } from './tokens.js';

const LIVE_MS = 10_000;

export function Credential() {
  const tokens = useGet<Tokens>('/admin/v1/token', LIVE_MS);
  const tries = useGet<{ entries: AuditEntry[] }>('/admin/v1/audit?action=token&limit=50', LIVE_MS);
  const status = useGet<{ processes: Holder[] }>('/admin/v1/status', LIVE_MS);
  return (
    <View
      title="Credential"
      lead="The platform token in use. Tokens are never shown; a fingerprint identifies each."
    >
      <Wait of={tokens}>
        {(value) => (
          <>
            <TokenLine tokens={value} nowMs={Date.now()} />
            <Rotation
              tokens={value}
              entries={tries.value?.entries ?? []}
              processes={status.value?.processes ?? []}
              refresh={() => {
                for (const one of [tokens, tries, status]) one.reload();
              }}
            />
          </>
        )}
      </Wait>
      <Wait of={tries}>{({ entries }) => <Tries entries={entries} />}</Wait>
    </View>
  );
}
