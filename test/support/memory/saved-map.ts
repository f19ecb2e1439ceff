/** A map whose content can be put back: as it is at a server that has lost what came after. */
export class SavedMap<V> extends Map<string, V> {
  /** @returns puts back what is there now */
  save(): () => void {
    const saved = [...this];
    return () => {
      this.clear();
      for (const [key, value] of saved) this.set(key, value);
    };
  }
}
