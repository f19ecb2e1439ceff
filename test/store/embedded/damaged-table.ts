import { RecordDamaged, type View } from '../../../src/store/embedded/environment.js';
import type { Table } from '../../../src/store/embedded/table.js';
import { MemoryTable } from '../../support/memory/memory-table.js';

/** A table in which records are damaged whose key ends so. */
export function damagedTable(isDamaged: (key: string) => boolean, table = new MemoryTable()): Table {
  const damageOf = (key: Buffer) => new RecordDamaged('folder', key, true);
  const damagedView = (view: View): View => ({
    ...view,
    get(key) {
      if (isDamaged(key.toString('latin1'))) throw damageOf(key);
      return view.get(key);
    },
    range(options, onDamaged) {
      const [whole, damaged] = [true, false].map((wanted) =>
        view.range(options).filter(({ key }) => isDamaged(key.toString('latin1')) !== wanted),
      );
      for (const { key } of damaged ?? []) {
        if (onDamaged === undefined) throw damageOf(key);
        onDamaged(damageOf(key));
      }
      return whole ?? [];
    },
  });
  return {
    read: (use) => table.read((view) => use(damagedView(view))),
    change: (apply) =>
      table.change((draft) => {
        const { get } = damagedView(draft as never);
        const range: typeof draft.range = (bounds, limit, onDamaged) =>
          damagedView({ ...draft, range: (one) => draft.range(one, limit) }).range(bounds, onDamaged);
        return apply({ ...draft, get, range });
      }),
  };
}
