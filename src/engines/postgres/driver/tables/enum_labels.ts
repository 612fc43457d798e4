import type { Connection } from "../../../../db/driver.ts";
import { cell, selectNamed } from "../../../../db/named_columns.ts";

/** The labels of enum types, shared by columns. `ALTER TYPE` can change them at any time. */
export class EnumLabels {
  readonly #lists = new Map<string, string[]>();

  /** Returns the list of a type's labels. Each refresh changes this list in place. */
  of(type: string, labels: readonly string[]): readonly string[] {
    const list = this.#lists.get(type) ?? [...labels];
    this.#lists.set(type, list);
    return list;
  }

  get isEmpty(): boolean {
    return this.#lists.size === 0;
  }

  /** Reads all labels again. Returns true if any of them has changed. */
  async refresh(connection: Connection): Promise<boolean> {
    const rows = await selectNamed(
      connection,
      {
        type: cell.text("enumtypid"),
        labels: cell.list("json_agg(enumlabel ORDER BY enumsortorder)"),
      },
      "FROM pg_enum GROUP BY enumtypid",
    );
    let isChanged = false;
    for (const { type, labels } of rows) {
      const list = this.#lists.get(type);
      if (list === undefined || JSON.stringify(list) === JSON.stringify(labels)) continue;
      list.splice(0, list.length, ...labels);
      isChanged = true;
    }
    return isChanged;
  }
}
